//! Things to press.

use leptos::{ev::MouseEvent, prelude::*};

use super::{Glyph, icon};

/// How much a button asks to be pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Primary,
    Danger,
}

impl Look {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Plain => "button",
            Self::Primary => "button button-primary",
            Self::Danger => "button button-danger",
        }
    }
}

fn boxed(deed: impl Fn() + 'static) -> Box<dyn FnMut(MouseEvent)> {
    Box::new(move |_| deed())
}

/// A button with words, and an icon before them where it has one.
pub(crate) fn button(
    look: Look,
    glyph: Option<Glyph>,
    words: &'static str,
    deed: impl Fn() + 'static,
) -> AnyView {
    view! {
        <button type="button" class=look.class() on:click=boxed(deed)>{glyph.map(icon)}{words}</button>
    }
    .into_any()
}

/// A button that is an icon alone: `name` says what it does, `title` in short when it is pointed at.
pub(crate) fn icon_button(
    glyph: Glyph,
    title: &'static str,
    name: String,
    deed: impl Fn() + 'static,
) -> AnyView {
    view! {
        <button type="button" class="icon-button" title=title aria-label=name on:click=boxed(deed)>{icon(glyph)}</button>
    }
    .into_any()
}
