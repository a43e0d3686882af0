//! Who is signed in. The cookie is the server's and out of reach here; this is only what `me` answered.

use leptos::{prelude::*, task::spawn_local};

use crate::{
    api::{self, Code, Failure},
    model::Role,
};

/// How the server says that nobody is signed in.
const NOBODY: [Code; 2] = [Code::Unauthenticated, Code::NotFound];

/// What is known about the session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SessionState {
    Asking,
    SignedOut,
    SignedIn {
        name: String,
        role: Role,
    },
    /// The server did not tell.
    Unknown(Failure),
}

/// The session, to read and to change.
#[derive(Clone, Copy)]
pub(crate) struct Session(RwSignal<SessionState>);

impl Session {
    pub(crate) fn get(self) -> SessionState {
        self.0.get()
    }

    /// Asks the server who this is.
    pub(crate) fn ask(self) {
        spawn_local(async move {
            self.0.set(match api::me().send().await {
                Ok(viewer) => SessionState::SignedIn { name: viewer.name, role: viewer.role },
                Err(failure) if NOBODY.contains(&failure.code) => SessionState::SignedOut,
                Err(failure) => SessionState::Unknown(failure),
            });
        });
    }

    pub(crate) fn end(self) {
        self.0.set(SessionState::SignedOut);
    }

    /// A request was refused for want of a session: it has ended.
    pub(crate) fn notice(self, failure: &Failure) {
        if failure.code == Code::Unauthenticated {
            self.end();
        }
    }

    /// Whether pages should offer to pause, resume, trigger, cancel and retry. The server decides all the same.
    pub(crate) fn operates(self) -> bool {
        matches!(self.0.get(), SessionState::SignedIn { role, .. } if role.operates())
    }

    /// Whether pages should offer to change what schedules are.
    pub(crate) fn edits(self) -> bool {
        matches!(self.0.get(), SessionState::SignedIn { role, .. } if role.edits())
    }
}

pub(super) fn provide() {
    let session = Session(RwSignal::new(SessionState::Asking));
    session.ask();
    provide_context(session);
}

pub(crate) fn use_session() -> Session {
    expect_context()
}
