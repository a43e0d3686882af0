//! Notices: messages about recent events, shown in the corner for a while and read aloud by screen readers. A notice
//! may have a link to its subject, and a button to undo the action.

use std::{sync::Arc, time::Duration};

use leptos::prelude::*;

use crate::model::Failure;

const SHOWN: Duration = Duration::from_secs(6);
/// How long a notice with an undo button stays, so that the user can notice a mistake.
const UNDOABLE: Duration = Duration::from_secs(20);

/// One notice.
#[derive(Clone)]
pub(crate) struct Notice {
    pub(crate) id: u32,
    pub(crate) said: Said,
    pub(crate) is_error: bool,
}

/// The text of a notice, with its link and undo action.
#[derive(Clone)]
pub(crate) struct Said {
    pub(crate) text: String,
    /// The link's label and its address.
    pub(crate) link: Option<(&'static str, String)>,
    /// Not a `Callback`: that would be gone with the form in which it was made.
    pub(crate) undo: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Said {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), link: None, undo: None }
    }

    pub(crate) fn link(self, words: &'static str, href: String) -> Self {
        Self { link: Some((words, href)), ..self }
    }

    pub(crate) fn undo(self, undo: impl Fn() + Send + Sync + 'static) -> Self {
        Self { undo: Some(Arc::new(undo)), ..self }
    }
}

impl From<String> for Said {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// The visible notices, newest last.
#[derive(Clone, Copy)]
pub(crate) struct Notices {
    pub(crate) list: RwSignal<Vec<Notice>>,
    next: StoredValue<u32>,
}

impl Notices {
    /// Shows a notice of success.
    pub(crate) fn done(self, said: impl Into<Said>) {
        let said = said.into();
        let shown = if said.undo.is_some() { UNDOABLE } else { SHOWN };
        let id = self.push(said, false);
        set_timeout(move || self.dismiss(id), shown);
    }

    /// Shows a notice of a failure, with advice. It stays until it is dismissed.
    pub(crate) fn failed(self, failure: &Failure) {
        self.push(Said::new(format!("{} {}", failure.message, failure.advice())), true);
    }

    /// Shows a notice that the browser has refused something. It stays until it is dismissed.
    pub(crate) fn refused(self, text: &str) {
        self.push(Said::new(text), true);
    }

    pub(crate) fn dismiss(self, id: u32) {
        self.list.update(|list| list.retain(|notice| notice.id != id));
    }

    fn push(self, said: Said, is_error: bool) -> u32 {
        let id = self.next.get_value();
        self.next.set_value(id.wrapping_add(1));
        self.list.update(|list| {
            // A repeated message replaces the earlier one.
            list.retain(|notice| notice.said.text != said.text);
            list.push(Notice { id, said, is_error });
        });
        id
    }
}

pub(super) fn provide() {
    provide_context(Notices { list: RwSignal::new(Vec::new()), next: StoredValue::new(0) });
}

pub(crate) fn use_notices() -> Notices {
    expect_context()
}
