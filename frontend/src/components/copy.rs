//! A button that copies a text.

use leptos::prelude::*;

use super::{Look, button, copy_text};
use crate::state::use_notices;

/// Copies what `text` returns, and shows a notice that says whether the browser has allowed it.
pub(crate) fn copy(words: &'static str, text: impl Fn() -> String + 'static) -> AnyView {
    let notices = use_notices();
    button(Look::Plain, None, words, move || copy_text(text(), notices, "Copied."))
}
