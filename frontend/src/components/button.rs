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

fn boxed(action: impl Fn() + 'static) -> Box<dyn FnMut(MouseEvent)> {
    Box::new(move |_| action())
}

/// A button with words, and an icon before them where it has one.
pub(crate) fn button(
    look: Look,
    glyph: Option<Glyph>,
    words: &'static str,
    action: impl Fn() + 'static,
) -> AnyView {
    view! {
        <button type="button" class=look.class() on:click=boxed(action)>{glyph.map(icon)}{words}</button>
    }
    .into_any()
}

/// A button that is an icon alone: `name` says what it does, `title` in short when it is pointed at.
pub(crate) fn icon_button(
    glyph: Glyph,
    title: &'static str,
    name: String,
    action: impl Fn() + 'static,
) -> AnyView {
    view! {
        <button type="button" class="icon-button" title=title aria-label=name on:click=boxed(action)>{icon(glyph)}</button>
    }
    .into_any()
}
