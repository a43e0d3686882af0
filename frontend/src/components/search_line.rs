//! A search line. Typing searches at once; an error that the server reports is shown under the line, with the wrong
//! part marked.

use leptos::prelude::*;

use super::{Glyph, Waiting, icon, live, pointed, use_typing};
use crate::model::Failure;

/// The line, and the search error that `loading` has received, if any.
#[component]
pub(crate) fn SearchLine(
    label: &'static str,
    placeholder: &'static str,
    /// The current search.
    #[prop(into)]
    value: Signal<String>,
    #[prop(into)] loading: Waiting,
    search: Callback<String>,
) -> impl IntoView {
    let typing = use_typing(search);
    let wrong = move || {
        let failure = loading.failure.get().filter(|failure| failure.is_of_search())?;
        let place = failure.position.map(|(start, end)| pointed(&value.get(), start, end));
        Some(view! { {place}<p>{failure.message}</p> }.into_any())
    };
    let is_wrong =
        move || loading.failure.with(|failure| failure.as_ref().is_some_and(Failure::is_of_search));
    view! {
        <div class="search-line">
            <div class="search-field">
                {icon(Glyph::Search)}
                <input
                    type="search"
                    aria-label=label
                    aria-invalid=move || is_wrong().then_some("true")
                    aria-describedby="search-error"
                    placeholder=placeholder
                    autocapitalize="off"
                    spellcheck="false"
                    prop:value=move || value.get()
                    on:input:target=move |event| typing.typed(event.target().value())
                />
                <kbd aria-hidden="true">"/"</kbd>
            </div>
            <div class="field-error" id="search-error" aria-live="polite">
                {live(move || wrong().unwrap_or_else(|| ().into_any()))}
            </div>
        </div>
    }
}
