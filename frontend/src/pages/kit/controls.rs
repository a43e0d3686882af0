//! Small controls.

use leptos::prelude::*;

use crate::{
    components::{self, Tab, tab_of},
    state::use_address,
};

/// A check box with its label.
pub(in crate::pages) fn check(
    id: impl Into<String>,
    label: impl Into<String>,
    value: RwSignal<bool>,
    hint: &'static str,
) -> AnyView {
    let (id, label) = (id.into(), label.into());
    let described = (!hint.is_empty()).then(|| format!("{id}-hint"));
    let words = described.clone().map(|id| view! { <p class="hint" id=id>{hint}</p> }.into_any());
    view! {
        <div class="check-field">
            <label for=id.clone()>
                <input
                    type="checkbox"
                    id=id.clone()
                    aria-describedby=described
                    prop:checked=move || value.get()
                    on:change:target=move |event| value.set(event.target().checked())
                />
                <span>{label}</span>
            </label>
            {words}
        </div>
    }
    .into_any()
}

/// A check box for one of several options that can be selected together.
pub(in crate::pages) fn switch<T: Clone + PartialEq + Send + Sync + 'static>(
    id: String,
    label: String,
    set: RwSignal<Vec<T>>,
    member: T,
) -> AnyView {
    let known = member.clone();
    let is_in = move || set.with(|set| set.contains(&known));
    let flip = move |on: bool| {
        set.update(|set| {
            set.retain(|other| *other != member);
            if on {
                set.push(member.clone());
            }
        });
    };
    view! {
        <label class="switch-member">
            <input
                type="checkbox"
                id=id
                prop:checked=is_in
                on:change:target=move |event| flip(event.target().checked())
            />
            <span>{label}</span>
        </label>
    }
    .into_any()
}

/// The tabs of a page, each with its own address. If the address names none, the first one is
/// shown.
pub(in crate::pages) fn tabs(label: &'static str, choices: &'static [Tab]) -> AnyView {
    let address = use_address();
    let chosen = Signal::derive(move || tab_of(choices, &address.query("tab")));
    let href =
        move |name: &'static str| address.with(&[("tab", name), ("after", ""), ("before", "")]);
    components::tabs(label, choices, chosen, href)
}

/// The view of an empty list: a title, and instructions for filling the list.
pub(in crate::pages) fn empty(title: &'static str, words: &'static str) -> AnyView {
    components::empty(title, words, ())
}

/// The note below a list across all namespaces that ends at the server's limit, which no single namespace reaches.
pub(in crate::pages) fn cut_note(listed: usize) -> AnyView {
    const MAX_SHOWN: usize = 500;
    if listed < MAX_SHOWN || !untrack(|| use_address().is_across()) {
        return ().into_any();
    }
    let words = format!(
        "The first {MAX_SHOWN} by name are listed. Choose a namespace to see all of its own."
    );
    view! { <p class="muted">{words}</p> }.into_any()
}

/// A smaller note below the text of a cell.
pub(in crate::pages) fn note(words: impl Into<String>) -> AnyView {
    let words = words.into();
    view! { <span class="cell-note">{words}</span> }.into_any()
}

/// The mark for an empty value.
pub(in crate::pages) fn none() -> AnyView {
    view! { <span class="muted">"–"</span> }.into_any()
}

/// A number of days in words: `1 day`, `30 days`.
pub(in crate::pages) fn days_choice(days: i64) -> String {
    if days == 1 { "1 day".to_owned() } else { format!("{days} days") }
}
