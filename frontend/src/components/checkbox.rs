//! Checkboxes that take effect at once, outside of forms.

use leptos::prelude::*;

/// A checkbox with its label. `is_on` is tracked, and `switch` gets the new state.
pub(crate) fn checkbox(
    words: &'static str,
    is_on: impl Fn() -> bool + Send + 'static,
    switch: impl Fn(bool) + 'static,
) -> AnyView {
    view! {
        <label class="check-label">
            <input
                type="checkbox"
                prop:checked=move || is_on()
                on:change:target=move |event| switch(event.target().checked())
            />
            {words}
        </label>
    }
    .into_any()
}
