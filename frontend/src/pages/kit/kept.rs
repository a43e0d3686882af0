//! The fields of a form, kept by a draft until they are sent: for forms whose fields are signals.
//!
//! Credentials are kept only if they reveal nothing; the note above a restored form names those that were left out.

use std::rc::Rc;

use leptos::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::restored::restored_by;
use crate::{
    pages::task_form::{is_open, lost_sentence},
    state::{Draft, SentDraft, use_draft},
};

/// The entry for the names of the fields whose text was not kept.
const LEFT_OUT: &str = "left_out";

/// The names of the fields whose text an earlier visit had and did not keep.
type Lost = RwSignal<Vec<&'static str>>;

/// A field that is kept as it is.
struct Plain {
    name: &'static str,
    /// Null if there is nothing to keep.
    read: Box<dyn Fn() -> Value>,
    write: Box<dyn Fn(Value)>,
}

/// A field that is kept only as long as its text may be.
struct Guarded {
    name: &'static str,
    words: &'static str,
    text: RwSignal<String>,
    may_keep: fn(&str) -> bool,
}

/// The fields to keep.
#[derive(Default)]
pub(in crate::pages) struct KeptFields {
    plain: Vec<Plain>,
    guarded: Vec<Guarded>,
}

impl KeptFields {
    pub(in crate::pages) fn new() -> Self {
        Self::default()
    }

    pub(in crate::pages) fn with<T>(self, name: &'static str, field: RwSignal<T>) -> Self
    where
        T: Serialize + DeserializeOwned + Send + Sync + 'static,
    {
        let read = move || field.with(|value| serde_json::to_value(value).unwrap_or_default());
        let write = move |value| {
            if let Ok(value) = serde_json::from_value(value) {
                field.set(value);
            }
        };
        self.with_value(name, read, write)
    }

    /// A field with a form of its own. `read` tracks it.
    pub(in crate::pages) fn with_value(
        mut self,
        name: &'static str,
        read: impl Fn() -> Value + 'static,
        write: impl Fn(Value) + 'static,
    ) -> Self {
        self.plain.push(Plain { name, read: Box::new(read), write: Box::new(write) });
        self
    }

    /// A credential. `words` name it: `signing secret`.
    pub(in crate::pages) fn with_credential(
        self,
        name: &'static str,
        words: &'static str,
        field: RwSignal<String>,
    ) -> Self {
        self.with_guarded(name, words, field, is_open)
    }

    /// A text that is kept only while `may_keep` allows it.
    pub(in crate::pages) fn with_guarded(
        mut self,
        name: &'static str,
        words: &'static str,
        text: RwSignal<String>,
        may_keep: fn(&str) -> bool,
    ) -> Self {
        self.guarded.push(Guarded { name, words, text, may_keep });
        self
    }

    /// Restores what an earlier visit typed, and keeps what is typed from now on, under a key of the form.
    pub(in crate::pages) fn keep(self, key: &str) -> KeptForm {
        let lost: Lost = RwSignal::new(Vec::new());
        let fields = Rc::new(self);
        let blank = untrack(|| fields.read(lost));
        let (read, write) = (fields.clone(), fields.clone());
        let draft = use_draft(key, move || read.read(lost), move |kept| write.write(kept, lost));
        KeptForm {
            draft,
            lost,
            fields: StoredValue::new_local(fields),
            blank: StoredValue::new(blank),
        }
    }

    /// The fields as one text; tracked.
    fn read(&self, lost: Lost) -> String {
        let mut all: Map<String, Value> =
            self.plain.iter().map(|field| (field.name.to_owned(), (field.read)())).collect();
        let mut left_out = Vec::new();
        for field in &self.guarded {
            let text = field.text.get();
            if !(field.may_keep)(&text) || field.is_missed(lost) {
                left_out.push(field.name);
            } else {
                all.insert(field.name.to_owned(), text.into());
            }
        }
        if !left_out.is_empty() {
            all.insert(LEFT_OUT.to_owned(), left_out.into());
        }
        Value::Object(all).to_string()
    }

    /// Fills the fields from such a text; a text that cannot be read changes nothing.
    fn write(&self, kept: &str, lost: Lost) {
        let Ok(mut all) = serde_json::from_str::<Map<String, Value>>(kept) else { return };
        for field in &self.plain {
            if let Some(value) = all.remove(field.name) {
                (field.write)(value);
            }
        }
        for field in &self.guarded {
            let text = all.remove(field.name);
            let text = text.as_ref().and_then(Value::as_str).unwrap_or_default();
            field.text.set(text.to_owned());
        }
        let left_out = all.remove(LEFT_OUT).unwrap_or_default();
        let is_out = |name: &&'static str| {
            left_out.as_array().is_some_and(|names| names.iter().any(|out| out == *name))
        };
        lost.set(self.guarded.iter().map(|field| field.name).filter(is_out).collect());
    }
}

impl Guarded {
    /// Whether its text was not kept, and was not entered again; tracked.
    fn is_missed(&self, lost: Lost) -> bool {
        lost.with(|lost| lost.contains(&self.name)) && self.text.with(String::is_empty)
    }
}

/// A form whose fields are kept. Copying it copies handles.
#[derive(Clone, Copy)]
pub(in crate::pages) struct KeptForm {
    draft: Draft,
    lost: Lost,
    fields: StoredValue<Rc<KeptFields>, LocalStorage>,
    blank: StoredValue<String>,
}

impl KeptForm {
    /// What is kept when the form is sent, to delete it once the server has saved it.
    pub(in crate::pages) fn sent(self) -> SentDraft {
        self.draft.sent()
    }

    /// The note above the form that says that its fields were restored.
    pub(in crate::pages) fn note(self) -> AnyView {
        restored_by(self.draft, move || self.lost_words(), move || self.start_afresh())
    }

    /// What a restored form misses, as a sentence; tracked.
    fn lost_words(self) -> String {
        let fields = self.fields.get_value();
        let missed = fields.guarded.iter().filter(|field| field.is_missed(self.lost));
        lost_sentence(&missed.map(|field| field.words.to_owned()).collect::<Vec<_>>())
    }

    fn start_afresh(self) {
        let fields = self.fields.get_value();
        self.blank.with_value(|blank| fields.write(blank, self.lost));
        self.draft.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(
        name: RwSignal<String>,
        days: RwSignal<Vec<u8>>,
        key: RwSignal<String>,
    ) -> KeptFields {
        KeptFields::new().with("name", name).with("days", days).with_credential("key", "key", key)
    }

    fn empty() -> (RwSignal<String>, RwSignal<Vec<u8>>, RwSignal<String>) {
        (RwSignal::new(String::new()), RwSignal::new(Vec::new()), RwSignal::new(String::new()))
    }

    #[test]
    fn what_is_typed_comes_back_and_a_credential_does_not() {
        Owner::new().with(|| {
            let lost: Lost = RwSignal::new(Vec::new());
            let (name, days, key) = empty();
            name.set("nightly".to_owned());
            days.set(vec![1, 5]);
            key.set("hush".to_owned());
            let text = untrack(|| fields(name, days, key).read(lost));
            assert!(!text.contains("hush"), "{text}");

            let (name, days, key) = empty();
            let all = fields(name, days, key);
            all.write(&text, lost);
            assert_eq!(
                (name.get_untracked().as_str(), days.get_untracked()),
                ("nightly", vec![1, 5])
            );
            assert_eq!(lost.get_untracked(), ["key"]);
            // It is still missed if the form is left a second time, until it is entered again.
            assert_eq!(untrack(|| all.read(lost)), text);
            key.set("{{ secrets.key }}".to_owned());
            assert!(!untrack(|| all.guarded[0].is_missed(lost)));
            assert!(untrack(|| all.read(lost)).contains("{{ secrets.key }}"));
        });
    }

    #[test]
    fn a_text_that_cannot_be_read_changes_nothing() {
        Owner::new().with(|| {
            let (name, days, key) = empty();
            name.set("nightly".to_owned());
            let all = fields(name, days, key);
            for kept in ["", "nightly", "[]", "{\"name\": 1}"] {
                all.write(kept, RwSignal::new(Vec::new()));
                assert_eq!(name.get_untracked(), "nightly", "{kept}");
            }
        });
    }
}
