//! Repeats an action while a page exists.

use std::time::Duration;

use leptos::prelude::*;

/// Runs the action at the end of each period, until the owner is disposed.
pub(crate) fn use_every(period: Duration, action: impl Fn() + 'static) {
    if let Ok(handle) = set_interval_with_handle(action, period) {
        on_cleanup(move || handle.clear());
    }
}
