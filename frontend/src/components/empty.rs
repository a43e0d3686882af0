//! The view of an empty list, with a way to fill it.

use leptos::prelude::*;

/// A title, a sentence about the purpose of the list, and optionally a way to continue.
pub(crate) fn empty(
    title: &'static str,
    words: impl IntoView + 'static,
    way: impl IntoView + 'static,
) -> AnyView {
    nothing(title, words.into_any(), way.into_any())
}

fn nothing(title: &'static str, words: AnyView, way: AnyView) -> AnyView {
    view! {
        <p class="empty-title">{title}</p>
        <p>{words}</p>
        {way}
    }
    .into_any()
}
