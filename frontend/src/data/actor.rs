//! Sends changes to the server, and reports their outcome.
//!
//! A change outlives the page that sent it: leaving the page does not abort it. The code that runs afterwards must
//! not read the page's signals, which may no longer exist. It gets their values beforehand.

use leptos::{prelude::*, task::spawn_local};
use serde::de::DeserializeOwned;

use super::session;
use crate::{
    api::Ask,
    model::{Code, Failure},
    state::{Notices, Said, Session, use_notices, use_session},
    time::Moment,
};

/// Sends changes for the signed-in user.
#[derive(Clone, Copy)]
pub(crate) struct Actor {
    session: Session,
    notices: Notices,
}

pub(crate) fn use_actor() -> Actor {
    Actor { session: use_session(), notices: use_notices() }
}

impl Actor {
    /// Sends a change, and passes its outcome on.
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

    /// Shows a notice that something was done.
    pub(crate) fn say(self, said: impl Into<Said>) {
        self.notices.done(said);
    }

    /// Shows a notice that something failed.
    pub(crate) fn complain(self, failure: &Failure) {
        self.notices.failed(failure);
    }

    /// Sends a change, and shows a notice once it is done or has failed.
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

/// A new unique idempotency key. However often the server receives a change with the same key, it makes the change
/// once.
pub(crate) fn new_key() -> String {
    let chance = js_sys::Math::random() * 1e15;
    format!("console-{:x}-{:x}", Moment::now().millis(), chance as u64)
}

/// The idempotency key of a form. The key stays the same until the server answers, so the user can safely press the
/// button again.
#[derive(Clone, Copy)]
pub(crate) struct Once(StoredValue<String>);

pub(crate) fn use_once() -> Once {
    Once(StoredValue::new(new_key()))
}

impl Once {
    pub(crate) fn key(self) -> String {
        self.0.get_value()
    }

    /// Takes a new key if the server has answered, because the next attempt is then another change.
    pub(crate) fn heard<T>(self, outcome: &Result<T, Failure>) {
        if !matches!(outcome, Err(failure) if failure.code == Code::Unreachable) {
            let _gone = self.0.try_update_value(|key| *key = new_key());
        }
    }
}
