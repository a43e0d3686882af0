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

/// A draft as it was when its form was sent. It consists of plain values, because the form, and with it all that belongs
/// to the form, may be gone when the server answers.
pub(crate) struct SentDraft {
    key: String,
    text: Option<String>,
    is_restored: RwSignal<bool>,
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

    /// Deletes the draft because it is discarded.
    pub(crate) fn forget(self) {
        self.key.with_value(|key| memory::remember(key, ""));
        self.is_restored.set(false);
    }

    /// The draft as it is now, to delete it once the server has saved what the form sends.
    pub(crate) fn sent(self) -> SentDraft {
        let key = self.key.get_value();
        SentDraft { text: memory::recall(&key), key, is_restored: self.is_restored }
    }
}

impl SentDraft {
    /// Deletes the draft because it was saved. If the form was left since, what was typed into another one with the same
    /// draft stays.
    pub(crate) fn forget(self) {
        let is_left = self.is_restored.try_set(false).is_some();
        if !is_left || memory::recall(&self.key) == self.text {
            memory::remember(&self.key, "");
        }
    }
}
