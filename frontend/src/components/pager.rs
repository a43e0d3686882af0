//! From page to page by cursors.

use leptos::prelude::*;

use super::live;
use crate::api::{Listing, Place};

/// Newer and older, or nothing where all fits on one page. `what` is the list's name, for the navigation's label.
pub(crate) fn pager<T: Send + Sync + 'static>(
    listing: Listing<T>,
    what: &'static str,
    go: impl Fn(Place) + Send + Sync + 'static,
) -> AnyView {
    let go = Callback::new(go);
    live(move || {
        let beside = listing.load.with(|page| (page.previous.clone(), page.next.clone()));
        match beside {
            Some((previous, next)) if previous.is_some() || next.is_some() => {
                let previous = step("Previous", previous.map(Place::Before), go);
                let next = step("Next", next.map(Place::After), go);
                let label = format!("Pages of {what}");
                view! { <nav class="pager" aria-label=label>{previous}{next}</nav> }.into_any()
            }
            Some(_) | None => ().into_any(),
        }
    })
}

fn step(words: &'static str, to: Option<Place>, go: Callback<Place>) -> AnyView {
    let is_end = to.is_none();
    let step = move |_| {
        if let Some(place) = to.clone() {
            go.run(place);
        }
    };
    view! {
        <button type="button" class="button" disabled=is_end on:click=step>{words}</button>
    }
    .into_any()
}
