//! People and programs: who may sign in, and how they prove their identity.
//!
//! Promises: a password is stored only as an Argon2id hash and a token only as a SHA-256; both are
//! shown at most once, when they are created. Checking a password takes as long for a name that
//! does not exist as for one that does, and never blocks the reactor. Every change is in the audit
//! log.
//!
//! The API's operations on people are among the commands; this module contains what those, the
//! shell and the sign-in endpoints share.
//!
//! - `password`: hashing and checking, off the reactor
//! - `users`: adding, disabling, signing in
//! - `names`: which names are valid, and which look alike
//! - `devices`: browsers in which a user has signed in before; `browser`: what a browser calls
//!   itself, in words
//! - `tokens`: creating, revoking, recognising
//! - `rights`: the caller, and what they may do; `grants`: in which namespaces
//! - `refused`: why a caller may not do something
//! - `granted`: a user's current grants
//! - `moment`: how long a node caches what it looked up about callers
//! - `guesses`: limits password guesses, on all nodes together; `limiter`: the part that one node
//!   knows
//! - `oidc`: signing in through an identity provider
//! - `error`: why a change was refused

mod browser;
mod devices;
mod error;
mod granted;
mod grants;
mod guesses;
mod limiter;
mod moment;
mod names;
pub mod oidc;
pub(crate) mod password;
mod refused;
mod rights;
pub(crate) mod tokens;
mod users;

pub use browser::browser_name;
pub use devices::Device;
pub use error::PeopleError;
pub use granted::{GroupGrantLimits, grants_of, user_viewer};
pub use grants::{Grant, Grants};
pub use guesses::{GuessRefusal, Guesses};
pub use limiter::{Limiter, network};
pub use moment::LookupMoment;
pub(crate) use moment::{commit_rights, wait_until_rights_apply};
pub(crate) use names::{check_name, name_key};
pub use password::{mark, random_password};
pub use refused::AccessRefusal;
pub(crate) use refused::{PASSWORD_CHANGE, forbidden};
pub use rights::{
    Admin, Editor, Operator, Owner, Permit, Reader, Viewer, ViewerKind, WorkerQueues,
};
pub use tokens::{NewToken, TokenHolder, create_token, revoke_token, token_hash, token_holder};
pub use users::{
    Access, NewUser, PasswordSet, PasswordUse, Tokens, add_user, set_access, set_password, sign_in,
};

use entity::{Timestamp, audit_event};
use sea_orm::{ConnectionTrait, Set};
use uuid::Uuid;

use crate::{
    clock::Clock,
    store::{StoreError, audit},
};

/// Audits what `who` did to the user or token `subject`.
async fn record<C: ConnectionTrait>(
    tx: &C,
    clock: &Clock,
    who: &Viewer,
    action: &'static str,
    subject_id: Uuid,
    subject: &str,
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
        reason: Set(who.reason.clone()),
        before: Set(None),
        after: Set(after),
    };
    audit::insert(tx, row).await
}
