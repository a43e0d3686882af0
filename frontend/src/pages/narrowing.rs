//! A query in the address that a page reads itself, whole or in part.

use leptos::prelude::*;

use crate::{components::Waiting, data::Loading, model::Failure};

/// A query as its page reads it.
pub(super) struct Narrowing<T: Send + Sync + 'static> {
    /// The query as it is written.
    pub(super) text: Memo<String>,
    mistake: Memo<Option<Failure>>,
    /// What was read last; nothing if each query so far had a mistake.
    last: Memo<Option<T>>,
}

impl<T: Send + Sync + 'static> Clone for Narrowing<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for Narrowing<T> {}

/// Reads the query that `text` returns, whenever it changes.
pub(super) fn use_narrowing<T>(
    text: impl Fn() -> String + Send + Sync + 'static,
    read: fn(&str) -> Result<T, Failure>,
) -> Narrowing<T>
where
    T: Clone + PartialEq + Send + Sync + 'static,
{
    let text = Memo::new(move |_| text());
    let outcome = Memo::new(move |_| text.with(|text| read(text)));
    let mistake = Memo::new(move |_| outcome.with(|outcome| outcome.as_ref().err().cloned()));
    let last = Memo::new(move |last: Option<&Option<T>>| match outcome.get() {
        Ok(read) => Some(read),
        Err(_) => last.cloned().flatten(),
    });
    Narrowing { text, mistake, last }
}

impl<T: Clone + Default + PartialEq + Send + Sync + 'static> Narrowing<T> {
    /// What the last query without a mistake says; tracked.
    pub(super) fn get(self) -> T {
        self.last.get().unwrap_or_default()
    }

    /// The mistake in the query, if it has one; tracked.
    pub(super) fn mistake(self) -> Option<Failure> {
        self.mistake.get()
    }

    /// The state of what the query narrows: a mistake in the query is a failure of the search.
    pub(super) fn waiting(self, loading: Loading) -> Waiting {
        let Self { mistake, last, .. } = self;
        let Waiting { has_data, failure, retry } = loading.into();
        Waiting {
            has_data: Signal::derive(move || has_data.get() && last.with(Option::is_some)),
            failure: Signal::derive(move || mistake.get().or_else(|| failure.get())),
            retry,
        }
    }
}
