//! The search line. Typing narrows at once, a moment after the last key, and leaves no trace in the history.

use leptos::prelude::*;

use super::Wanted;
use crate::{
    components::{Choice, Glyph, SearchLine, icon_button},
    data::Loading,
    model::Place,
    state::use_address,
};

const STATES: [Choice; 5] = [
    ("", "Any"),
    ("active", "Active"),
    ("paused", "Paused"),
    ("finished", "Finished"),
    ("exhausted", "Exhausted"),
];

/// Text, state, and the tag if one is set.
#[component]
pub(super) fn Filters(loading: Loading) -> impl IntoView {
    let address = use_address();
    let change = move |edit: &dyn Fn(&mut Wanted)| {
        let mut next = Wanted { place: Place::First, ..untrack(|| Wanted::of(address)) };
        edit(&mut next);
        address.replace(&address.with(&next.query_parts()));
    };
    let search = Callback::new(move |text: String| change(&|wanted| wanted.text.clone_from(&text)));
    let option = move |(value, words): Choice| {
        let is_chosen = move || address.query("state") == value;
        view! { <option value=value selected=move || is_chosen()>{words}</option> }.into_any()
    };
    let tag = move || {
        let tag = address.query("tag");
        (!tag.is_empty()).then(|| {
            let name = format!("Remove the tag {tag}");
            let remove = move || change(&|wanted| wanted.tag.clear());
            view! { <span class="tag">{tag}{icon_button(Glyph::Close, "Remove", name, remove)}</span> }
                .into_any()
        })
    };
    view! {
        <search class="filter-line">
            <SearchLine
                label="Search schedules"
                placeholder="report tag:billing state:failed next:<1h"
                value=Signal::derive(move || address.query("q"))
                loading=loading
                search=search
            />
            <label class="filter-choice">
                <span>"State"</span>
                <select on:change:target=move |event| {
                    let state = event.target().value();
                    change(&|wanted| wanted.state.clone_from(&state));
                }>{Vec::from(STATES.map(option))}</select>
            </label>
            {move || tag()}
        </search>
    }
}
