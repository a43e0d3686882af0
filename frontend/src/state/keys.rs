//! Whether single-key shortcuts are enabled. Users of voice control, or with a tremor, can turn them off. The browser
//! stores the choice.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, KeyboardEvent};

use super::memory;

const KEY: &str = "carillon.keys";

/// The switch that enables the shortcuts.
#[derive(Clone, Copy)]
pub(crate) struct Keys(RwSignal<bool>);

impl Keys {
    pub(crate) fn are_on(self) -> bool {
        self.0.get()
    }

    pub(crate) fn switch(self, on: bool) {
        memory::remember(KEY, if on { "on" } else { "off" });
        self.0.set(on);
    }
}

pub(super) fn provide() {
    provide_context(Keys(RwSignal::new(memory::recall(KEY).as_deref() != Some("off"))));
}

pub(crate) fn use_keys() -> Keys {
    expect_context()
}

/// Whether a key press is not meant for shortcuts: it goes to a field, to an open dialog, or to the browser.
pub(crate) fn is_typing(event: &KeyboardEvent) -> bool {
    const TYPING: &str = "input:not([type=radio]):not([type=checkbox]), textarea, select";
    let target = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok());
    let is_typing = target.is_some_and(|element| {
        element.is_content_editable() || element.closest(TYPING).is_ok_and(|found| found.is_some())
    });
    let has_dialog = document().query_selector("dialog[open]").is_ok_and(|found| found.is_some());
    is_typing || has_dialog || event.ctrl_key() || event.meta_key() || event.alt_key()
}
