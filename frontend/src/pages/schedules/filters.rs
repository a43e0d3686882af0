//! The search line. Typing narrows at once, a moment after the last key, and leaves no trace in the history.

use std::time::Duration;

use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};

use super::Wanted;
use crate::{
    api::Place,
    components::{Choice, Glyph, icon, icon_button},
    state::use_address,
};

const PAUSE: Duration = Duration::from_millis(250);

const STATES: [Choice; 5] = [
    ("", "Any"),
    ("active", "Active"),
    ("paused", "Paused"),
    ("finished", "Finished"),
    ("exhausted", "Exhausted"),
];

/// Text, state, and the tag if one is set.
#[component]
pub(super) fn Filters() -> impl IntoView {
    let address = use_address();
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let stop = move || {
        if let Some(Some(timer)) = timer.try_update_value(Option::take) {
            timer.clear();
        }
    };
    let change = move |edit: &dyn Fn(&mut Wanted)| {
        let mut next = Wanted { place: Place::First, ..untrack(|| Wanted::of(address)) };
        edit(&mut next);
        address.replace(&next.path());
    };
    let search = move |text: String| {
        stop();
        let later = move || change(&|wanted| wanted.text.clone_from(&text));
        timer.set_value(set_timeout_with_handle(later, PAUSE).ok());
    };
    on_cleanup(stop);
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
            <div class="search-field">
                {icon(Glyph::Search)}
                <input
                    type="search"
                    aria-label="Search schedules"
                    placeholder="Search by name, note or workflow"
                    prop:value=move || address.query("q")
                    on:input:target=move |event| search(event.target().value())
                />
                <kbd aria-hidden="true">"/"</kbd>
            </div>
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
