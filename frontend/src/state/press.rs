//! Whether a pointer is pressed.
//!
//! The rows of a live list move. If a row moves away between press and release, the click is lost. So changes that
//! arrive while a pointer is pressed are shown after its release.

use leptos::{ev, prelude::*};

/// Whether the button, pen or finger is pressed.
#[derive(Clone, Copy)]
pub(crate) struct Press(StoredValue<bool>);

impl Press {
    pub(crate) fn is_held(self) -> bool {
        self.0.get_value()
    }
}

pub(super) fn provide() {
    let held = StoredValue::new(false);
    // These listeners exist as long as the app. A press that ends outside the window ends when the window loses the
    // focus.
    let _listener = window_event_listener(ev::pointerdown, move |event| {
        held.set_value(event.button() == 0);
    });
    // If the browser's context menu swallows the release, the next move without a pressed button reveals it.
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
