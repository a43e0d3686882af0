//! Keyboard shortcuts: single keys that work as long as the user is not typing into a field.

use leptos::{ev, prelude::*};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::rail::PAGES;
use crate::{
    components::{Dialog, Glyph, icon_button},
    route::Route,
    state::{is_typing, ranged_path, use_address, use_keys, use_session},
    time::Moment,
};

/// How long `g` waits for its second key.
const PREFIX_MS: i64 = 1_500;

/// The shortcuts other than those that open a page of the rail.
const KEYS: [(&str, &str); 8] = [
    ("/", "Search"),
    ("n", "New schedule"),
    ("j", "Next row"),
    ("k", "Previous row"),
    ("x", "Select the row; with Shift, all rows up to it"),
    ("← →", "Move through the controls of a row"),
    ("Esc", "Close what is open"),
    ("?", "Show these shortcuts"),
];

/// Listens for shortcuts, and shows their list on `?`, by its button, or once `open` is set.
#[component]
pub(crate) fn ShortcutKeys(open: RwSignal<bool>) -> impl IntoView {
    let (address, session, keys) = (use_address(), use_session(), use_keys());
    let prefix = StoredValue::new(0);
    let go = move |route: Route| address.go(&untrack(|| ranged_path(address, &route)));
    let listener = window_event_listener(ev::keydown, move |event| {
        if !untrack(|| keys.are_on()) || is_typing(&event) {
            return;
        }
        let now = Moment::now().millis();
        let after_g = now - prefix.get_value() < PREFIX_MS;
        prefix.set_value(0);
        match (after_g, event.key().as_str()) {
            (true, key) if page_of(key).is_some() => {
                if let Some(route) = page_of(key) {
                    go(route);
                }
            }
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
            <dl class="keys">{lines()}</dl>
            <label class="check-label keys-switch">
                <input
                    type="checkbox"
                    prop:checked=move || keys.are_on()
                    on:change:target=move |event| keys.switch(event.target().checked())
                />
                "Enable single-key shortcuts"
            </label>
        </Dialog>
    }
}

fn page_of(key: &str) -> Option<Route> {
    PAGES.iter().find(|page| page.key == key).map(|page| page.route.clone())
}

fn lines() -> Vec<AnyView> {
    let pages = PAGES.iter().map(|page| line(&format!("g {}", page.key), page.words));
    let others = KEYS.into_iter().map(|(keys, words)| line(keys, words));
    pages.chain(others).collect()
}

fn line(keys: &str, words: &'static str) -> AnyView {
    let key = |key: &str| view! { <kbd>{key.to_owned()}</kbd> }.into_any();
    view! { <div><dt>{keys.split(' ').map(key).collect::<Vec<_>>()}</dt><dd>{words}</dd></div> }
        .into_any()
}

fn focus_search() -> bool {
    let field = document().query_selector("input[type=search]").ok().flatten();
    field
        .and_then(|field| field.dyn_into::<HtmlElement>().ok())
        .is_some_and(|field| field.focus().is_ok())
}
