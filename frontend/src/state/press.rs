//! Whether a pointer is held down.
//!
//! A list that lives moves its rows. A row that moves away between the press and the release takes the click with it, so
//! what comes while a pointer is down is shown after it is up.

use leptos::{ev, prelude::*};

/// The button, pen or finger.
#[derive(Clone, Copy)]
pub(crate) struct Press(StoredValue<bool>);

impl Press {
    pub(crate) fn is_held(self) -> bool {
        self.0.get_value()
    }
}

pub(super) fn provide() {
    let held = StoredValue::new(false);
    // For as long as the app is there. A press that ends outside of the window ends with its focus.
    let _listener = window_event_listener(ev::pointerdown, move |event| {
        held.set_value(event.button() == 0);
    });
    // A menu of the browser's takes the release; the next move without a button tells.
    let _listener = window_event_listener(ev::pointermove, move |event| {
        if event.buttons() == 0 {
            held.set_value(false);
        }
    });
    let _listener = window_event_listener(ev::contextmenu, move |_| held.set_value(false));
    let _listener = window_event_listener(ev::dragend, move |_| held.set_value(false));
    let _listener = window_event_listener(ev::pointerup, move |_| held.set_value(false));
    let _listener = window_event_listener(ev::pointercancel, move |_| held.set_value(false));
    let _listener = window_event_listener(ev::blur, move |_| held.set_value(false));
    provide_context(Press(held));
}

pub(crate) fn use_press() -> Press {
    expect_context()
}
