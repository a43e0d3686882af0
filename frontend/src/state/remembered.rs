//! A choice that outlives the page and the session: a text in the browser's storage.

use leptos::prelude::*;

use super::memory;

/// The choice, to read and to change.
#[derive(Clone, Copy)]
pub(crate) struct Remembered {
    key: &'static str,
    value: RwSignal<String>,
}

impl Remembered {
    /// The choice; empty if nothing was chosen. Tracked.
    pub(crate) fn get(self) -> String {
        self.value.get()
    }

    pub(crate) fn set(self, value: &str) {
        memory::remember(self.key, value);
        self.value.set(value.to_owned());
    }
}

pub(crate) fn use_remembered(key: &'static str) -> Remembered {
    Remembered { key, value: RwSignal::new(memory::recall(key).unwrap_or_default()) }
}
