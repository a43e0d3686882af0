//! Combines many calls into one action. The action runs at once for the first call, and once more at the end of the
//! time window if there were further calls.

use std::time::Duration;

use leptos::prelude::*;

use crate::time::Moment;

/// Lets an action run at most once per time window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throttle {
    window_ms: i64,
    /// The end of the current time window, and whether an action waits for it.
    open: StoredValue<(i64, bool)>,
}

impl Throttle {
    pub(crate) fn new(window_ms: i64) -> Self {
        Self { window_ms, open: StoredValue::new((0, false)) }
    }

    /// Runs the action now, or at the end of the time window unless the owner is disposed by then.
    pub(crate) fn run(self, action: impl FnOnce() + 'static) {
        let now = Moment::now().millis();
        let Some((until, waits)) = self.open.try_get_value() else { return };
        if now >= until {
            self.open.set_value((now + self.window_ms, false));
            action();
        } else if !waits {
            self.open.set_value((until, true));
            let later = move || {
                if self.open.is_disposed() {
                    return;
                }
                self.open.set_value((Moment::now().millis() + self.window_ms, false));
                action();
            };
            set_timeout(later, Duration::from_millis((until - now).unsigned_abs()));
        }
    }
}
