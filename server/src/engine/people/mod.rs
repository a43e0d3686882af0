//! People and programs: who may come in, and how they prove it.
//!
//! Promises: a password is kept only as an Argon2id hash and a token only as a SHA-256; both are
//! shown at most once, when they are made. Checking a password takes as long for a name that does
//! not exist as for one that does, and never holds up the reactor. Every change is in the audit
//! log.
//!
//! - `password`: hashing and checking, off the reactor
//! - `users`: adding, disabling, signing in
//! - `tokens`: making, revoking, recognising
//! - `error`: why it was refused

mod error;
mod password;
mod tokens;
mod users;

pub use error::PeopleError;
pub use password::random_password;
pub use tokens::{NewToken, create_token, revoke_token, token_viewer};
pub use users::{NewUser, add_user, set_disabled, set_password, sign_in};

use entity::{Timestamp, audit_event};
use sea_orm::{ConnectionTrait, Set};
use uuid::Uuid;

use super::commands::Viewer;
use crate::{
    clock::Clock,
    store::{StoreError, audit},
};

/// Writes down what `who` did to the user or token `subject`.
async fn record<C: ConnectionTrait>(
    tx: &C,
    clock: &Clock,
    who: &Viewer,
    action: &'static str,
    (subject_id, subject): (Uuid, &str),
    after: Option<serde_json::Value>,
) -> Result<(), StoreError> {
    let row = audit_event::ActiveModel {
        id: Set(Uuid::now_v7()),
        namespace_id: Set(None),
        at: Set(Timestamp::from(clock.now())),
        actor: Set(who.name.clone()),
        source: Set(who.source.clone()),
        action: Set(action.to_owned()),
        subject_id: Set(Some(subject_id)),
        subject: Set(subject.to_owned()),
        reason: Set(None),
        before: Set(None),
        after: Set(after),
    };
    audit::insert(tx, row).await
}
