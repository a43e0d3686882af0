//! The search line. Typing narrows at once, a moment after the last key.

use std::time::Duration;

use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};

use super::Wanted;
use crate::{
    api::Place,
    components::{Glyph, Icon},
};

const PAUSE: Duration = Duration::from_millis(250);

/// Text, state, and the tag if one is set.
#[component]
pub(super) fn Filters(
    wanted: Memo<Wanted>,
    go: impl Fn(Wanted) + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let timer = StoredValue::new(None::<TimeoutHandle>);
    let stop = move || {
        if let Some(Some(timer)) = timer.try_update_value(Option::take) {
            timer.clear();
        }
    };
    let change = move |edit: &dyn Fn(&mut Wanted)| {
        let mut next = Wanted { place: Place::First, ..wanted.get_untracked() };
        edit(&mut next);
        go(next);
    };
    let search = move |text: String| {
        stop();
        let later = move || change(&|wanted| wanted.text = text.clone());
        timer.set_value(set_timeout_with_handle(later, PAUSE).ok());
    };
    on_cleanup(stop);
    view! {
        <search class="filter-line">
            <div class="search-field">
                <Icon glyph=Glyph::Search/>
                <input
                    type="search"
                    aria-label="Search schedules"
                    placeholder="Search by name, note or workflow"
                    prop:value=move || wanted.with(|wanted| wanted.text.clone())
                    on:input:target=move |event| search(event.target().value())
                />
                <kbd aria-hidden="true">"/"</kbd>
            </div>
            <label class="filter-choice">
                <span>"State"</span>
                <select on:change:target=move |event| {
                    let state = event.target().value();
                    change(&|wanted| wanted.state = state.clone());
                }>
                    {[("", "Any"), ("active", "Active"), ("paused", "Paused"), ("finished", "Finished")]
                        .map(|(value, words)| view! {
                            <option value=value selected=move || wanted.with(|wanted| wanted.state == value)>{words}</option>
                        })}
                </select>
            </label>
            {move || {
                let tag = wanted.with(|wanted| wanted.tag.clone());
                (!tag.is_empty()).then(|| view! {
                    <span class="tag">
                        {tag.clone()}
                        <button
                            type="button"
                            aria-label=format!("Remove the tag {tag}")
                            on:click=move |_| change(&|wanted| wanted.tag.clear())
                        ><Icon glyph=Glyph::Close/></button>
                    </span>
                })
            }}
        </search>
    }
}
