//! Unsent input of forms. It survives leaving the page, a lost connection, and the end of a session, until it is sent
//! or discarded. Each user of the browser has their own.

use leptos::prelude::*;

use super::{memory, session::use_session};

/// The draft of a form, under its own key.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    key: StoredValue<String>,
    /// Whether the form's content was restored from an earlier visit.
    is_restored: RwSignal<bool>,
    /// The content of the form before anything was typed.
    blank: StoredValue<String>,
}

/// Restores the earlier input, and saves further input. `read` returns the form as a text and tracks its fields;
/// `write` puts such a text into the form.
pub(crate) fn use_draft(
    key: &str,
    read: impl Fn() -> String + 'static,
    write: impl Fn(&str) + 'static,
) -> Kept {
    let user = untrack(|| use_session().viewer()).map(|viewer| viewer.name).unwrap_or_default();
    let key = format!("carillon.draft.{user}.{key}");
    let blank = untrack(&read);
    let before = memory::recall(&key).filter(|text| !text.is_empty() && *text != blank);
    if let Some(text) = &before {
        write(text);
    }
    let kept = Kept {
        key: StoredValue::new(key),
        is_restored: RwSignal::new(before.is_some()),
        blank: StoredValue::new(blank),
    };
    Effect::new(move |_| {
        let text = read();
        kept.keep(&text);
    });
    kept
}

impl Kept {
    pub(crate) fn is_restored(self) -> bool {
        self.is_restored.get()
    }

    fn keep(self, text: &str) {
        let is_blank = self.blank.with_value(|blank| blank == text);
        self.key.with_value(|key| memory::remember(key, if is_blank { "" } else { text }));
    }

    /// Deletes the draft because it was sent or discarded.
    pub(crate) fn forget(self) {
        let _gone = self.key.try_with_value(|key| memory::remember(key, ""));
        let _gone = self.is_restored.try_set(false);
    }
}
