//! Asks who is signed in, and signs out.

use leptos::{prelude::*, task::spawn_local};

use crate::{
    api,
    model::{Code, Failure},
    state::{Notices, Session, SessionState},
};

/// How the server says that nobody is signed in.
const NOBODY: [Code; 2] = [Code::Unauthenticated, Code::NotFound];

/// Asks the server who this is.
pub(crate) fn ask_session(session: Session) {
    spawn_local(async move {
        session.set(match api::me().send().await {
            Ok(viewer) => SessionState::SignedIn(viewer),
            Err(failure) if NOBODY.contains(&failure.code) => SessionState::SignedOut,
            Err(failure) => SessionState::Unknown(failure),
        });
    });
}

/// Ends the session, and goes where the browser signs out of the identity provider if it came from one.
pub(crate) fn sign_out(session: Session, notices: Notices) {
    spawn_local(async move {
        match api::sign_out().await {
            Ok(elsewhere) => {
                session.end();
                if let Some(elsewhere) = elsewhere {
                    // A browser that does not go there has left here all the same.
                    let _ = window().location().set_href(&elsewhere);
                }
            }
            Err(failure) => notices.failed(&failure),
        }
    });
}

/// A request was refused for want of a session: it has ended.
pub(super) fn notice(session: Session, failure: &Failure) {
    if failure.code == Code::Unauthenticated {
        session.end();
    }
}
