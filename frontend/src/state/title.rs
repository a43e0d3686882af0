//! The document's title follows the page.

use leptos::prelude::*;

/// Names the page in the browser's tab and history.
pub(crate) fn use_title(title: impl Fn() -> String + 'static) {
    Effect::new(move |_| document().set_title(&format!("{} · Carillon", title())));
}
