//! Tags, each linking to the schedules that have it.

use leptos::prelude::*;

use crate::route::Route;

/// The tags; empty if there are none.
pub(crate) fn tags(tags: &[String]) -> AnyView {
    if tags.is_empty() {
        return ().into_any();
    }
    let link = |tag: &String| {
        let href = Route::Schedules.narrowed(&[("q", &format!("tag:{tag}"))]);
        view! { <a class="tag" href=href>{tag.clone()}</a> }.into_any()
    };
    view! { <span class="tags">{tags.iter().map(link).collect::<Vec<_>>()}</span> }.into_any()
}
