//! The keyboard: single keys that work wherever nothing is being typed.

use leptos::{ev, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, KeyboardEvent};

use super::{Dialog, Glyph, icon_button};
use crate::{
    route::Route,
    state::{use_address, use_keys, use_session},
    time::Moment,
};

/// How long `g` waits for its second key.
const PREFIX_MS: i64 = 1_500;

const KEYS: [(&str, &str); 8] = [
    ("/", "Search schedules"),
    ("n", "New schedule"),
    ("g o", "Go to the overview"),
    ("g s", "Go to the schedules"),
    ("g r", "Go to the runs"),
    ("g c", "Go to the cluster"),
    ("Esc", "Close a dialog"),
    ("?", "Show these shortcuts"),
];

/// Listens, and shows the list on `?` or by its button.
#[component]
pub(crate) fn ShortcutKeys() -> impl IntoView {
    let open = RwSignal::new(false);
    let (address, session, keys) = (use_address(), use_session(), use_keys());
    let prefix = StoredValue::new(0);
    let go = move |route: Route| address.go(&route.path());
    let listener = window_event_listener(ev::keydown, move |event| {
        if !untrack(|| keys.are_on()) || is_taken(&event) {
            return;
        }
        let now = Moment::now().millis();
        let after_g = now - prefix.get_value() < PREFIX_MS;
        prefix.set_value(0);
        match (after_g, event.key().as_str()) {
            (true, "o") => go(Route::Overview),
            (true, "s") => go(Route::Schedules),
            (true, "r") => go(Route::Runs),
            (true, "c") => go(Route::Cluster),
            (_, "g") => prefix.set_value(now),
            (_, "n") if untrack(|| session.edits()) => go(Route::NewSchedule),
            (_, "/") if !focus_search() => go(Route::Schedules),
            (_, "/") => {}
            (_, "?") => open.set(true),
            _ => return,
        }
        event.prevent_default();
    });
    on_cleanup(move || listener.remove());
    view! {
        <span class="keys-button">
            {icon_button(Glyph::Keyboard, "Keyboard shortcuts (?)", "Keyboard shortcuts".to_owned(), move || open.set(true))}
        </span>
        <Dialog open=open title="Keyboard shortcuts">
            <dl class="keys">{Vec::from(KEYS.map(|(keys, words)| line(keys, words)))}</dl>
            <label class="check-label keys-switch">
                <input
                    type="checkbox"
                    prop:checked=move || keys.are_on()
                    on:change:target=move |event| keys.switch(event.target().checked())
                />
                "Single keys do this"
            </label>
        </Dialog>
    }
}

fn line(keys: &'static str, words: &'static str) -> AnyView {
    let key = |key: &str| view! { <kbd>{key.to_owned()}</kbd> }.into_any();
    view! { <div><dt>{keys.split(' ').map(key).collect::<Vec<_>>()}</dt><dd>{words}</dd></div> }
        .into_any()
}

/// Whether the key is somebody else's: a field's, an open dialog's, the browser's.
fn is_taken(event: &KeyboardEvent) -> bool {
    const TYPING: &str = "input:not([type=radio]):not([type=checkbox]), textarea, select";
    let target = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
    let is_typing = target.is_some_and(|element| {
        element.is_content_editable() || element.closest(TYPING).is_ok_and(|found| found.is_some())
    });
    let has_dialog = document().query_selector("dialog[open]").is_ok_and(|found| found.is_some());
    is_typing || has_dialog || event.ctrl_key() || event.meta_key() || event.alt_key()
}

fn focus_search() -> bool {
    let field = document().query_selector("input[type=search]").ok().flatten();
    field
        .and_then(|field| field.dyn_into::<HtmlElement>().ok())
        .is_some_and(|field| field.focus().is_ok())
}
