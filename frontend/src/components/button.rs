//! Buttons.

use leptos::{ev::MouseEvent, prelude::*};

use super::{Glyph, icon};

/// How prominent a button is.
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

/// A button with a label, and optionally an icon before it.
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

/// A button with only an icon: `name` is its accessible name, `title` the short tooltip.
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
