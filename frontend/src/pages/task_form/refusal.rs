//! The error of a change that the server refused, with a button that moves the focus to its field.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use crate::model::Failure;

/// The error: its full text if no field shows it, or else only a button to its field.
pub(in crate::pages) fn refusal(failure: &Failure) -> AnyView {
    let shown = RwSignal::new(format!("{} {}", failure.message, failure.advice()));
    // The field is marked as wrong in the same update that shows this error.
    request_animation_frame(move || {
        let text = wrong_field().and_then(|field| field.closest(".field").ok().flatten());
        let text = text.and_then(|field| field.query_selector("label, legend").ok().flatten());
        if let Some(text) = text.and_then(|label| label.text_content()) {
            let _gone = shown.try_set(format!("Not saved: see {text}."));
        }
    });
    view! { <p class="form-error">{move || shown.get()}</p> }.into_any()
}

/// The first field that is marked as wrong. Another view of the form, which contains it, may be
/// hidden.
fn wrong_field() -> Option<Element> {
    document().query_selector("form [aria-invalid=true]:not([hidden] *)").ok().flatten()
}

/// Moves the focus to the field that is marked as wrong, and expands the sections that hide it.
pub(in crate::pages) fn show_wrong_field() {
    request_animation_frame(|| {
        let Some(field) = wrong_field() else { return };
        if let Some(details) = field.closest("details").ok().flatten() {
            let _open = details.set_attribute("open", "");
        }
        if let Ok(field) = field.dyn_into::<HtmlElement>() {
            let _hidden = field.focus();
        }
    });
}
