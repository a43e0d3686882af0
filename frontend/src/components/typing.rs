//! When what is typed is sought: the first key at once, and those that follow it closely when the last of them is in.

use std::time::Duration;

use leptos::{leptos_dom::helpers::TimeoutHandle, prelude::*};

/// Keys that are not further apart belong together.
const PAUSE: Duration = Duration::from_millis(150);

/// A field whose text is sought while one types.
#[derive(Clone, Copy)]
pub(crate) struct Typing {
    search: Callback<String>,
    /// Runs while further keys may follow.
    timer: StoredValue<Option<TimeoutHandle>>,
    /// What was typed since the last search.
    waiting: StoredValue<Option<String>>,
}

/// For one field.
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

    /// Whether further keys were waited for.
    fn stop(self) -> bool {
        let timer = self.timer.try_update_value(Option::take).flatten();
        timer.inspect(TimeoutHandle::clear).is_some()
    }
}
