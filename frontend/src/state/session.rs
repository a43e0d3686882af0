//! Who is signed in. The cookie is the server's and out of reach here; this is only what `me` answered.

use leptos::prelude::*;

use super::{Address, use_address};
use crate::{
    model::{Failure, Role, Viewer},
    route::Scope,
};

/// What is known about the session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SessionState {
    Asking,
    SignedOut,
    SignedIn(Viewer),
    /// The server did not tell.
    Unknown(Failure),
}

/// The session, to read and to change.
#[derive(Clone, Copy)]
pub(crate) struct Session {
    state: RwSignal<SessionState>,
    address: Address,
}

impl Session {
    pub(crate) fn get(self) -> SessionState {
        self.state.get()
    }

    pub(crate) fn set(self, state: SessionState) {
        self.state.set(state);
    }

    pub(crate) fn end(self) {
        self.state.set(SessionState::SignedOut);
    }

    /// Who it is, while somebody is signed in; tracked.
    pub(crate) fn viewer(self) -> Option<Viewer> {
        match self.state.get() {
            SessionState::SignedIn(viewer) => Some(viewer),
            SessionState::Asking | SessionState::SignedOut | SessionState::Unknown(_) => None,
        }
    }

    /// The role that holds where one looks; tracked. Across all namespaces it is the highest that holds anywhere.
    pub(crate) fn role(self) -> Option<Role> {
        let viewer = self.viewer()?;
        match self.address.scope() {
            Some(Scope::One(namespace)) => viewer.role_in(&namespace),
            Some(Scope::All) | None => Some(viewer.role),
        }
    }

    /// Whose health one is told: that of all namespaces, for who may see them all, else that of the one where one
    /// looks; tracked.
    pub(crate) fn health_of(self) -> Option<String> {
        match self.address.scope() {
            Some(Scope::One(namespace)) if !self.sees_all() => Some(namespace),
            Some(Scope::One(_) | Scope::All) | None => None,
        }
    }

    /// Whether they may see every namespace; tracked.
    pub(crate) fn sees_all(self) -> bool {
        self.viewer().is_some_and(|viewer| viewer.role_everywhere.is_some())
    }

    /// Whether pages should offer to pause, resume, trigger, cancel and retry. The server decides all the same.
    pub(crate) fn operates(self) -> bool {
        self.role().is_some_and(Role::operates)
    }

    /// The same of what lies in a namespace, wherever one looks.
    pub(crate) fn operates_in(self, namespace: &str) -> bool {
        self.viewer().and_then(|viewer| viewer.role_in(namespace)).is_some_and(Role::operates)
    }

    /// Whether pages should offer to change what lies in a namespace, wherever one looks.
    pub(crate) fn edits_in(self, namespace: &str) -> bool {
        self.viewer().and_then(|viewer| viewer.role_in(namespace)).is_some_and(Role::edits)
    }

    /// Whether pages should offer to change what schedules are.
    pub(crate) fn edits(self) -> bool {
        self.role().is_some_and(Role::edits)
    }
}

pub(super) fn provide() {
    provide_context(Session { state: RwSignal::new(SessionState::Asking), address: use_address() });
}

pub(crate) fn use_session() -> Session {
    expect_context()
}
