//! JSON as text, indented.

use leptos::prelude::*;
use serde_json::Value;

/// A block of JSON. It is focusable, because it scrolls on its own.
pub(crate) fn json_view(value: &Value, label: &'static str) -> AnyView {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    view! { <pre class="json" tabindex="0" role="region" aria-label=label>{text}</pre> }.into_any()
}
