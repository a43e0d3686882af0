//! Whether single keys do something. Who speaks to the computer, or has a restless hand, switches them off. Remembered.

use leptos::prelude::*;

use super::memory;

const KEY: &str = "carillon.keys";

/// The switch.
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
