//! A button that copies a text.

use leptos::prelude::*;

use super::{Look, button};

/// Copies what `text` returns. If the browser forbids it, nothing happens, and the user can still select the text.
pub(crate) fn copy(words: &'static str, text: impl Fn() -> String + 'static) -> AnyView {
    button(Look::Plain, None, words, move || {
        let _promise = window().navigator().clipboard().write_text(&text());
    })
}
