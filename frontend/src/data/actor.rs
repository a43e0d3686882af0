//! What changes something on the server, and says so.
//!
//! A change outlives the page that asked for it: it is not aborted, and what is done then must not read the page's
//! signals, which may be gone. What is needed is read before.

use leptos::{prelude::*, task::spawn_local};
use serde::de::DeserializeOwned;

use super::session;
use crate::{
    api::Ask,
    model::{Code, Failure},
    state::{Notices, Said, Session, use_notices, use_session},
    time::Moment,
};

/// Sends changes for whoever is signed in.
#[derive(Clone, Copy)]
pub(crate) struct Actor {
    session: Session,
    notices: Notices,
}

pub(crate) fn use_actor() -> Actor {
    Actor { session: use_session(), notices: use_notices() }
}

/// What became of a change: the id of what it made or changed.
type Outcome = Result<String, Failure>;

impl Actor {
    /// Sends a change, and hands over what came of it.
    pub(crate) fn send<T: DeserializeOwned + 'static>(
        self,
        change: Ask<T>,
        done: impl FnOnce(Result<T, Failure>) + 'static,
    ) {
        spawn_local(async move {
            let outcome = change.send().await;
            if let Err(failure) = &outcome {
                session::notice(self.session, failure);
            }
            done(outcome);
        });
    }

    /// Says that something was done.
    pub(crate) fn say(self, said: impl Into<Said>) {
        self.notices.done(said);
    }

    /// Says that something failed.
    pub(crate) fn complain(self, failure: &Failure) {
        self.notices.failed(failure);
    }

    /// Sends a change and says so when it is done, or why it is not.
    pub(crate) fn act(
        self,
        change: Ask<String>,
        said: impl Into<Said>,
        then: impl FnOnce(String) + 'static,
    ) {
        let said = said.into();
        self.send(change, move |outcome| match outcome {
            Ok(id) => {
                self.notices.done(said);
                then(id);
            }
            Err(failure) => self.notices.failed(&failure),
        });
    }
}

/// A key that nobody else uses: sent with a change, it makes the server do it once, however often it hears of it.
pub(crate) fn new_key() -> String {
    let chance = js_sys::Math::random() * 1e15;
    format!("console-{:x}-{:x}", Moment::now().millis(), chance as u64)
}

/// The key of a form. It stays the same while the server does not answer, so to press the button again is safe.
#[derive(Clone, Copy)]
pub(crate) struct Once(StoredValue<String>);

pub(crate) fn use_once() -> Once {
    Once(StoredValue::new(new_key()))
}

impl Once {
    pub(crate) fn key(self) -> String {
        self.0.get_value()
    }

    /// What was answered is over: the next try is another change.
    pub(crate) fn heard(self, outcome: &Outcome) {
        if !matches!(outcome, Err(failure) if failure.code == Code::Unreachable) {
            let _gone = self.0.try_update_value(|key| *key = new_key());
        }
    }
}
