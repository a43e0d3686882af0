//! The field above a list that narrows it to names with a text. The address holds the text.

use leptos::{html, prelude::*};

use crate::{components::use_typing, state::Address};

/// The parameter of the address with the text.
const TEXT: &str = "q";

/// The text that names have to contain; empty if the list has all names; tracked.
pub(in crate::pages) fn named_with(address: Address) -> String {
    address.query(TEXT)
}

/// The field. `label` names the search: `Which workflows`.
pub(in crate::pages) fn name_field(address: Address, label: &'static str) -> AnyView {
    let node = NodeRef::<html::Input>::new();
    // The text that the address has because of this field.
    let sent = StoredValue::new(untrack(|| named_with(address)));
    let narrow = Callback::new(move |text: String| {
        let text = text.trim();
        sent.set_value(text.to_owned());
        address.replace(&address.with(&[(TEXT, text), ("after", ""), ("before", "")]));
    });
    let typing = use_typing(narrow);
    // A link, and the browser's way back, change the address alone.
    Effect::new(move |_| {
        let text = named_with(address);
        if sent.with_value(|sent| *sent != text) {
            if let Some(field) = node.get_untracked() {
                field.set_value(&text);
            }
            sent.set_value(text);
        }
    });
    view! {
        <search class="filter-line" aria-label=label>
            <input
                node_ref=node
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
