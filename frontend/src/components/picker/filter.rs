//! A field that filters a page. It applies once the user has finished typing, or has taken a suggestion.

use leptos::prelude::*;

use super::{Suggestions, use_picker};

/// The field; `value` is the filter that applies.
pub(crate) fn filter_field(
    name: &'static str,
    label: &'static str,
    placeholder: String,
    value: Signal<String>,
    apply: Callback<String>,
    suggestions: Suggestions,
) -> AnyView {
    let id = format!("filter-{name}");
    let text = RwSignal::new(value.get_untracked());
    Effect::new(move |_| text.set(value.get()));
    let picker = use_picker(&id, text, suggestions, Some(apply));
    let control = view! {
        <input
            type="search"
            id=id
            class="filter-field"
            role="combobox"
            aria-label=label
            aria-autocomplete="list"
            aria-expanded=move || picker.is_open().to_string()
            aria-controls=picker.list_id()
            aria-activedescendant=move || picker.active_id()
            placeholder=placeholder
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            prop:value=move || text.get()
            on:input:target=move |event| {
                text.set(event.target().value());
                picker.typed();
            }
            on:change:target=move |event| apply.run(event.target().value().trim().to_owned())
        />
    };
    picker.around(control.into_any())
}
