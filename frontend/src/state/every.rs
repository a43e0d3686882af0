//! Something that is done again and again while a page is there.

use std::time::Duration;

use leptos::prelude::*;

/// Does it at the end of each period, until the owner goes.
pub(crate) fn use_every(period: Duration, action: impl Fn() + 'static) {
    if let Ok(handle) = set_interval_with_handle(action, period) {
        on_cleanup(move || handle.clear());
    }
}
