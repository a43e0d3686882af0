//! The field above a list that narrows it to names with a text. The address holds the text.

use leptos::prelude::*;

use crate::{components::use_typing, state::Address};

/// The parameter of the address with the text.
const TEXT: &str = "q";

/// The text that names have to contain; empty if the list has all names; tracked.
pub(in crate::pages) fn named_with(address: Address) -> String {
    address.query(TEXT)
}

/// The field. `label` names the search: `Which workflows`.
pub(in crate::pages) fn name_field(address: Address, label: &'static str) -> AnyView {
    let narrow = Callback::new(move |text: String| {
        let text = text.trim();
        address.replace(&address.with(&[(TEXT, text), ("after", ""), ("before", "")]));
    });
    let typing = use_typing(narrow);
    view! {
        <search class="filter-line" aria-label=label>
            <input
                type="search"
                class="filter-field"
                aria-label="Name contains"
                placeholder="Name contains"
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                prop:value=untrack(|| address.query(TEXT))
                on:input:target=move |event| typing.typed(event.target().value())
            />
        </search>
    }
    .into_any()
}
