//! Paging by cursors.

use leptos::prelude::*;

use super::live;
use crate::model::Place;

/// The pages before and after the current one, as far as they exist.
pub(crate) type Beside = Signal<(Option<Place>, Option<Place>)>;

/// Links to newer and older rows; empty if all rows fit on one page. `what` names the list, for the navigation's
/// label.
pub(crate) fn pager(
    beside: Beside,
    what: &'static str,
    go: impl Fn(Place) + Send + Sync + 'static,
) -> AnyView {
    let go = Callback::new(go);
    live(move || {
        let (previous, next) = beside.get();
        if previous.is_none() && next.is_none() {
            return ().into_any();
        }
        let (previous, next) = (step("Previous", previous, go), step("Next", next, go));
        let label = format!("Pages of {what}");
        view! { <nav class="pager" aria-label=label>{previous}{next}</nav> }.into_any()
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
