//! The browser's storage. If storage is forbidden or full, a choice only lasts until the page is
//! left.

use leptos::prelude::window;

fn storage() -> Option<web_sys::Storage> {
    window().local_storage().ok().flatten()
}

pub(super) fn recall(key: &str) -> Option<String> {
    storage()?.get_item(key).ok().flatten()
}

/// Stores a value; an empty one leaves nothing behind.
pub(super) fn remember(key: &str, value: &str) {
    if let Some(storage) = storage() {
        let _full =
            if value.is_empty() { storage.remove_item(key) } else { storage.set_item(key, value) };
    }
}
