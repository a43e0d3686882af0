//! The signed-in user. Scripts cannot read the session cookie, so the state comes from the answer to `me`.

use leptos::prelude::*;

use super::{Address, use_address};
use crate::{
    model::{Failure, Role, Viewer},
    route::Scope,
};

/// In the address, the namespace that a page of one namespace shows in the view of all namespaces.
pub(crate) const PICKED: &str = "namespace";

/// The known state of the session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SessionState {
    Asking,
    SignedOut,
    SignedIn(Viewer),
    /// The server did not answer.
    Unknown(Failure),
}

/// The session, to read and to change.
#[derive(Clone, Copy)]
pub(crate) struct Session {
    state: RwSignal<SessionState>,
    address: Address,
    /// The password of the sign-in, until it turns out not to be a one-time password or is replaced.
    typed: StoredValue<String>,
}

impl Session {
    pub(crate) fn get(self) -> SessionState {
        self.state.get()
    }

    pub(crate) fn set(self, state: SessionState) {
        let must_change =
            matches!(&state, SessionState::SignedIn(viewer) if viewer.must_change_password);
        if !must_change {
            self.typed.set_value(String::new());
        }
        self.state.set(state);
    }

    /// Replaces the signed-in user, if they are still signed in and anything about them has changed.
    pub(crate) fn renew(self, viewer: Viewer) {
        let is_new = self.state.with_untracked(
            |state| matches!(state, SessionState::SignedIn(known) if *known != viewer),
        );
        if is_new {
            self.set(SessionState::SignedIn(viewer));
        }
    }

    pub(crate) fn end(self) {
        self.set(SessionState::SignedOut);
    }

    /// Keeps the password of a sign-in, so that a user with a one-time password need not type it again to replace it.
    pub(crate) fn keep_typed_password(self, password: String) {
        self.typed.set_value(password);
    }

    /// The one-time password with which the user has just signed in; empty if it is not known.
    pub(crate) fn typed_password(self) -> String {
        self.typed.get_value()
    }

    /// The signed-in user, if any; tracked.
    pub(crate) fn viewer(self) -> Option<Viewer> {
        match self.state.get() {
            SessionState::SignedIn(viewer) => Some(viewer),
            SessionState::Asking | SessionState::SignedOut | SessionState::Unknown(_) => None,
        }
    }

    /// The role in the current namespace; tracked. Across all namespaces, it is the highest role held anywhere.
    pub(crate) fn role(self) -> Option<Role> {
        let viewer = self.viewer()?;
        match self.address.scope() {
            Some(Scope::One(namespace)) => viewer.role_in(&namespace),
            Some(Scope::All) | None => Some(viewer.role),
        }
    }

    /// The namespace that a page of one namespace shows; tracked. In the view of all namespaces, it is the picked one,
    /// which is at first the last visited one.
    pub(crate) fn picked(self) -> String {
        let named = [self.address.namespace(), self.address.query(PICKED)];
        let home = || self.viewer().map(|viewer| viewer.home(self.address.remembered()));
        named.into_iter().find(|name| !name.is_empty()).or_else(home).unwrap_or_default()
    }

    /// The namespace whose health is shown; tracked. `None` means all namespaces: for a user who may see them all,
    /// and in the view of all namespaces.
    pub(crate) fn health_of(self) -> Option<String> {
        match self.address.scope() {
            Some(Scope::One(namespace)) if !self.sees_all() => Some(namespace),
            Some(Scope::One(_) | Scope::All) | None => None,
        }
    }

    /// Whether the user may see every namespace; tracked.
    pub(crate) fn sees_all(self) -> bool {
        self.viewer().is_some_and(|viewer| viewer.role_everywhere.is_some())
    }

    /// Whether the user is an administrator of the instance; tracked.
    pub(crate) fn administers_all(self) -> bool {
        let everywhere = self.viewer().and_then(|viewer| viewer.role_everywhere);
        everywhere.is_some_and(Role::administers)
    }

    /// Whether pages should offer to pause, resume, trigger, cancel and retry. The server checks the permission
    /// again.
    pub(crate) fn operates(self) -> bool {
        self.role().is_some_and(Role::operates)
    }

    /// Whether pages should offer these actions for objects of a given namespace, whichever scope is shown.
    pub(crate) fn operates_in(self, namespace: &str) -> bool {
        self.viewer().and_then(|viewer| viewer.role_in(namespace)).is_some_and(Role::operates)
    }

    /// Whether the user is an administrator of a namespace, whichever scope is shown; tracked.
    pub(crate) fn administers_in(self, namespace: &str) -> bool {
        self.viewer().and_then(|viewer| viewer.role_in(namespace)).is_some_and(Role::administers)
    }

    /// Whether pages should offer to change objects of a namespace, whichever scope is shown.
    pub(crate) fn edits_in(self, namespace: &str) -> bool {
        self.viewer().and_then(|viewer| viewer.role_in(namespace)).is_some_and(Role::edits)
    }

    /// Whether pages should offer to change the definitions of schedules.
    pub(crate) fn edits(self) -> bool {
        self.role().is_some_and(Role::edits)
    }
}

pub(super) fn provide() {
    let (state, typed) = (RwSignal::new(SessionState::Asking), StoredValue::new(String::new()));
    provide_context(Session { state, address: use_address(), typed });
}

pub(crate) fn use_session() -> Session {
    expect_context()
}
