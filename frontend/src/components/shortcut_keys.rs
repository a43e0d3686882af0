//! The keyboard: single keys that work wherever nothing is being typed.

use leptos::{ev, prelude::*};
use leptos_router::{NavigateOptions, hooks::use_navigate};
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, KeyboardEvent};

use crate::{
    components::{Dialog, Glyph, Icon},
    route::Route,
    state::use_session,
    time::Moment,
};

/// How long `g` waits for its second key.
const PREFIX_MS: f64 = 1_500.0;

const KEYS: [(&str, &str); 7] = [
    ("/", "Search schedules"),
    ("n", "New schedule"),
    ("g o", "Go to the overview"),
    ("g s", "Go to the schedules"),
    ("g r", "Go to the runs"),
    ("Esc", "Close a dialog"),
    ("?", "Show these shortcuts"),
];

/// Listens, and shows the list on `?` or by its button.
#[component]
pub(crate) fn ShortcutKeys() -> impl IntoView {
    let open = RwSignal::new(false);
    let navigate = use_navigate();
    let session = use_session();
    let prefix = StoredValue::new(0.0);
    let go = move |route: Route| navigate(&route.path(), NavigateOptions::default());
    let listener = window_event_listener(ev::keydown, move |event| {
        if is_typing(&event) || event.ctrl_key() || event.meta_key() || event.alt_key() {
            return;
        }
        let after_g = Moment::now().millis() - prefix.get_value() < PREFIX_MS;
        prefix.set_value(0.0);
        match (after_g, event.key().as_str()) {
            (true, "o") => go(Route::Overview),
            (true, "s") => go(Route::Schedules),
            (true, "r") => go(Route::Runs),
            (_, "g") => prefix.set_value(Moment::now().millis()),
            (_, "n") if session.edits() => go(Route::NewSchedule),
            (_, "/") if !focus_search() => go(Route::Schedules),
            (_, "/") => {}
            (_, "?") => open.set(true),
            _ => return,
        }
        event.prevent_default();
    });
    on_cleanup(move || listener.remove());
    view! {
        <button
            type="button"
            class="icon-button keys-button"
            aria-label="Keyboard shortcuts"
            title="Keyboard shortcuts (?)"
            on:click=move |_| open.set(true)
        >
            <Icon glyph=Glyph::Keyboard/>
        </button>
        <Dialog open=open title="Keyboard shortcuts">
            <dl class="keys">
                {KEYS.map(|(keys, words)| view! {
                    <div>
                        <dt>{keys.split(' ').map(|key| view! { <kbd>{key.to_owned()}</kbd> }).collect_view()}</dt>
                        <dd>{words}</dd>
                    </div>
                })}
            </dl>
        </Dialog>
    }
}

/// Whether the key belongs to a field or to an open dialog.
fn is_typing(event: &KeyboardEvent) -> bool {
    let target = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
    target.is_some_and(|element| {
        element.is_content_editable()
            || element
                .closest("input:not([type=radio]):not([type=checkbox]), textarea, select, dialog")
                .is_ok_and(|found| found.is_some())
    })
}

fn focus_search() -> bool {
    let field = document().query_selector("input[type=search]").ok().flatten();
    field
        .and_then(|field| field.dyn_into::<HtmlElement>().ok())
        .is_some_and(|field| field.focus().is_ok())
}
