//! What just happened, said once: shown in the corner for a while and read aloud by screen readers.

use std::time::Duration;

use leptos::prelude::*;

use crate::model::Failure;

const SHOWN: Duration = Duration::from_secs(6);

/// One thing to say.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Notice {
    pub(crate) id: u32,
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

/// The notices on show, newest last.
#[derive(Clone, Copy)]
pub(crate) struct Notices {
    pub(crate) list: RwSignal<Vec<Notice>>,
    next: StoredValue<u32>,
}

impl Notices {
    /// Says that something was done.
    pub(crate) fn done(self, text: impl Into<String>) {
        let id = self.push(text.into(), false);
        set_timeout(move || self.dismiss(id), SHOWN);
    }

    /// Says that something failed, and what to do. It stays until it is dismissed.
    pub(crate) fn failed(self, failure: &Failure) {
        self.push(format!("{} {}", failure.message, failure.advice()), true);
    }

    pub(crate) fn dismiss(self, id: u32) {
        self.list.update(|list| list.retain(|notice| notice.id != id));
    }

    fn push(self, text: String, is_error: bool) -> u32 {
        let id = self.next.get_value();
        self.next.set_value(id.wrapping_add(1));
        self.list.update(|list| {
            // The same error again adds nothing.
            list.retain(|notice| notice.text != text);
            list.push(Notice { id, text, is_error });
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
