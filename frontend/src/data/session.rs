//! Loads the signed-in user, and signs out.

use leptos::{prelude::*, task::spawn_local};

use crate::{
    api,
    model::{Code, Failure},
    state::{Notices, Session, SessionState},
};

/// The error codes that mean that the user is not signed in.
const NOBODY: [Code; 2] = [Code::Unauthenticated, Code::NotFound];

/// Loads the signed-in user.
pub(crate) fn ask_session(session: Session) {
    spawn_local(async move {
        session.set(match api::me().send().await {
            Ok(viewer) => SessionState::SignedIn(viewer),
            Err(failure) if NOBODY.contains(&failure.code) => SessionState::SignedOut,
            Err(failure) => SessionState::Unknown(failure),
        });
    });
}

/// Ends the session. If it came from an identity provider, the browser then goes to the URL that
/// signs the user out there.
pub(crate) fn sign_out(session: Session, notices: Notices) {
    spawn_local(async move {
        match api::sign_out().await {
            Ok(elsewhere) => {
                session.end();
                if let Some(elsewhere) = elsewhere {
                    // If the browser does not go there, the session in the console has ended
                    // anyway.
                    let _ = window().location().set_href(&elsewhere);
                }
            }
            Err(failure) => notices.failed(&failure),
        }
    });
}

/// Ends the session in the console if a request was refused because the server no longer knows the
/// session. If it was refused because of a one-time password, the user is asked for another one. If
/// it was refused because of the user's role, the role may have changed since it was loaded.
pub(super) fn notice(session: Session, failure: &Failure) {
    if failure.code == Code::Unauthenticated {
        session.end();
    } else if failure.code == Code::PasswordChangeRequired {
        ask_session(session);
    } else if failure.code == Code::Forbidden {
        renew(session);
    }
}

/// Loads the signed-in user again. Without an answer, nothing changes.
fn renew(session: Session) {
    spawn_local(async move {
        if let Ok(viewer) = api::me().send().await {
            session.renew(viewer);
        }
    });
}
