//! Searches while the user types: at once for a single key, and after a pause if keys follow each other faster.

use std::time::Duration;

use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};

/// Keys that follow each other within this time cause one search. Most people type slower, but a key that is held
/// down repeats faster.
const PAUSE: Duration = Duration::from_millis(80);

/// A field that searches while the user types.
#[derive(Clone, Copy)]
pub(crate) struct Typing {
    search: Callback<String>,
    /// The timer; it runs while further keys may follow.
    timer: StoredValue<Option<TimeoutHandle>>,
    /// The text that was typed since the last search.
    waiting: StoredValue<Option<String>>,
}

/// Creates the state of one field.
pub(crate) fn use_typing(search: Callback<String>) -> Typing {
    let typing = Typing { search, timer: StoredValue::new(None), waiting: StoredValue::new(None) };
    on_cleanup(move || {
        typing.stop();
    });
    typing
}

impl Typing {
    pub(crate) fn typed(self, text: String) {
        if self.stop() {
            self.waiting.set_value(Some(text));
        } else {
            self.search.run(text);
        }
        let over = move || {
            self.timer.set_value(None);
            if let Some(text) = self.waiting.try_update_value(Option::take).flatten() {
                self.search.run(text);
            }
        };
        self.timer.set_value(set_timeout_with_handle(over, PAUSE).ok());
    }

    /// Searches for a text that was chosen, in place of a typed one that still waits.
    pub(crate) fn chosen(self, text: String) {
        self.stop();
        self.waiting.set_value(None);
        self.search.run(text);
    }

    /// Cancels the timer; returns whether it was running.
    fn stop(self) -> bool {
        let timer = self.timer.try_update_value(Option::take).flatten();
        timer.inspect(TimeoutHandle::clear).is_some()
    }
}
