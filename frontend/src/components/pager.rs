//! From page to page by cursors.

use leptos::prelude::*;

use crate::api::Place;

/// Newer and older, or nothing where all fits on one page.
#[component]
pub(crate) fn Pager(
    #[prop(into)] previous: Signal<Option<String>>,
    #[prop(into)] next: Signal<Option<String>>,
    /// The list's name, for the navigation's label.
    what: &'static str,
    go: impl Fn(Place) + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let needed = move || previous.with(Option::is_some) || next.with(Option::is_some);
    view! {
        <Show when=needed>
            <nav class="pager" aria-label=format!("Pages of {what}")>
                <button
                    type="button"
                    class="button"
                    disabled=move || previous.with(Option::is_none)
                    on:click=move |_| if let Some(cursor) = previous.get() { go(Place::Before(cursor)) }
                >"Previous"</button>
                <button
                    type="button"
                    class="button"
                    disabled=move || next.with(Option::is_none)
                    on:click=move |_| if let Some(cursor) = next.get() { go(Place::After(cursor)) }
                >"Next"</button>
            </nav>
        </Show>
    }
}
