//! Fields whose text is not a value yet, such as a date without its time. To the page, the value of such a field is
//! empty, so a form would take it for one that the user has left empty.
//!
//! A field shows the error once it loses the focus, and a form with such a field is not sent.

use js_sys::Reflect;
use leptos::prelude::*;
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Element, Event, HtmlInputElement};

/// The visible fields that can have such a text.
const FIELDS: &str =
    "input[type=number]:not([hidden] *), input[type=datetime-local]:not([hidden] *)";

/// Whether the text of a field is not a value.
fn is_unread(field: &HtmlInputElement) -> bool {
    let validity = Reflect::get(field, &"validity".into());
    let is_bad = validity.and_then(|validity| Reflect::get(&validity, &"badInput".into()));
    is_bad.is_ok_and(|is_bad| is_bad.is_truthy())
}

/// Notes whether the text of a field is not a value. A field can lose the focus because it is removed.
pub(super) fn note_unread(unread: RwSignal<bool>, field: &HtmlInputElement) {
    let now = is_unread(field);
    if unread.try_get_untracked() == Some(!now) {
        let _gone = unread.try_set(now);
    }
}

/// What to do about a text that is not a value in a field of this type.
pub(super) fn unread_advice(kind: &str) -> &'static str {
    match kind {
        "number" => "This is not a number yet. Complete it, or clear the field.",
        _ => "Enter both the date and the time, or clear the field.",
    }
}

/// Holds back every form with such a field, and moves the focus to the field. Called once.
pub(crate) fn hold_back_unread() {
    let check = Closure::<dyn Fn(Event)>::new(|event: Event| {
        let form = event.target().and_then(|form| form.dyn_into::<Element>().ok());
        let Some(field) = form.and_then(|form| first_unread(&form)) else { return };
        event.prevent_default();
        // The form's own listener would send it.
        event.stop_immediate_propagation();
        show(&field);
    });
    let listener = check.as_ref().unchecked_ref();
    let _added = document().add_event_listener_with_callback_and_bool("submit", listener, true);
    check.forget();
}

fn first_unread(form: &Element) -> Option<HtmlInputElement> {
    let found = form.query_selector_all(FIELDS).ok()?;
    let field = |at: u32| found.item(at)?.dyn_into::<HtmlInputElement>().ok();
    (0..found.length()).filter_map(field).find(is_unread)
}

fn show(field: &HtmlInputElement) {
    if let Some(details) = field.closest("details").ok().flatten() {
        let _open = details.set_attribute("open", "");
    }
    // The field shows its error when it loses the focus, which it may have.
    let _unfocused = field.blur();
    let _hidden = field.focus();
}
