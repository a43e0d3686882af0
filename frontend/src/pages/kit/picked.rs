//! The namespace of a page that shows only one.

use leptos::prelude::*;

use crate::{
    components::live,
    data::use_namespaces,
    state::{PICKED, use_address, use_session},
};

/// The namespace that is shown; see `Session::picked`.
pub(in crate::pages) fn use_picked() -> Memo<String> {
    let session = use_session();
    Memo::new(move |_| session.picked())
}

/// The picker in the view of all namespaces: names the namespace that a part of the page shows, and picks another
/// one.
pub(in crate::pages) fn picker(words: &'static str, picked: Memo<String>) -> AnyView {
    let address = use_address();
    if !untrack(|| address.is_across()) {
        return ().into_any();
    }
    let names = use_namespaces();
    let options = live(move || {
        let here = picked.get();
        let known = names.with(|names| names.iter().map(|named| named.name.clone()).collect());
        let known: Vec<String> = known.unwrap_or_else(|| vec![here.clone()]);
        let option = |name: String| {
            let is_picked = name == here;
            view! { <option value=name.clone() prop:selected=is_picked>{name.clone()}</option> }
                .into_any()
        };
        known.into_iter().map(option).collect::<Vec<_>>().into_any()
    });
    // A page of the list of another namespace is none of this one.
    let pick = move |name: String| {
        address.replace(&address.with(&[(PICKED, &name), ("after", ""), ("before", "")]));
    };
    view! {
        <p class="namespace-pick">
            <span class="muted">{words}</span>
            <select
                aria-label="Shown namespace"
                on:change:target=move |event| pick(event.target().value())
            >
                {options}
            </select>
        </p>
    }
    .into_any()
}
