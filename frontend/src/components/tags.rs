//! Tags, each a link to the schedules that carry it.

use leptos::prelude::*;

use crate::route::Route;

/// Nothing where there are none.
#[component]
pub(crate) fn Tags(#[prop(into)] tags: Signal<Vec<String>>) -> impl IntoView {
    let link = |tag: String| {
        let href = Route::SchedulesTagged(tag.clone()).path();
        view! { <a class="tag" href=href>{tag}</a> }
    };
    view! {
        <Show when=move || tags.with(|tags| !tags.is_empty())>
            <span class="tags">{move || tags.get().into_iter().map(link).collect_view()}</span>
        </Show>
    }
}
