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

/// What was typed for an earlier version of an object, which a newer version has replaced since.
pub(crate) struct EarlierDraft {
    key: String,
    /// The version that the input was based on.
    pub(crate) version: i64,
    pub(crate) text: String,
}

/// How many versions back earlier input is looked for.
const MAX_EARLIER: usize = 20;

/// The latest input for an earlier version of the object with this id, if there is any.
pub(crate) fn earlier_draft(id: &str, version: i64) -> Option<EarlierDraft> {
    (1..version).rev().take(MAX_EARLIER).find_map(|version| {
        let key = key_of(&version_key(id, version));
        let text = memory::recall(&key).filter(|text| !text.is_empty())?;
        Some(EarlierDraft { key, version, text })
    })
}

/// The key of the draft of one version of an object.
pub(crate) fn version_key(id: &str, version: i64) -> String {
    format!("{id}.{version}")
}

/// The key of a draft in the browser's storage.
fn key_of(key: &str) -> String {
    let user = untrack(|| use_session().viewer()).map(|viewer| viewer.name).unwrap_or_default();
    format!("carillon.draft.{user}.{key}")
}

/// Restores the earlier input, and saves further input. `read` returns the form as a text and tracks its fields;
/// `write` puts such a text into the form.
pub(crate) fn use_draft(
    key: &str,
    read: impl Fn() -> String + 'static,
    write: impl Fn(&str) + 'static,
) -> Kept {
    let key = key_of(key);
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

    /// Notes that the form has earlier input again.
    pub(crate) fn came_back(self) {
        self.is_restored.set(true);
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

impl EarlierDraft {
    /// Deletes the input, because it was taken over or discarded.
    pub(crate) fn forget(&self) {
        memory::remember(&self.key, "");
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
