//! Users, their roles in namespaces, and their credentials.
//!
//! An administrator of the instance manages everything here; an administrator of a namespace
//! manages its members; every user manages their own password, sessions and tokens. One
//! administrator who can sign in always remains. A role is granted only by the commands about
//! roles: no other input contains one.
//!
//! - `users`: adding, disabling and deleting users, and their role everywhere
//! - `memberships`: roles in single namespaces
//! - `passwords`: changes of one's own password, and an administrator's of another user's
//! - `sessions`: ending sessions remotely
//! - `tokens`, `feeds`: creating and revoking tokens and feeds
//! - `settings`: a user's console settings
//! - `tenants`: creating and renaming namespaces; `deleted_tenants`: deleting and restoring them

mod deleted_tenants;
mod feeds;
mod memberships;
mod passwords;
mod sessions;
mod settings;
mod tenants;
mod tokens;
mod users;

pub use feeds::{MAX_FEEDS, MadeFeed, NewFeed};
pub use memberships::{Member, NewMembership};
pub use passwords::{NewPassword, OwnPassword};
pub use settings::{Density, NewView, PersonalSettings, SettingsChange, Theme, View};
pub use tokens::{MadeToken, NewApiToken};
pub use users::NewPerson;

use entity::user;
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::{BadInput, CommandError};
use crate::{
    access::{PeopleError, wait_until_rights_apply},
    store::{DatabaseTransaction, StoreError, users as rows},
};

/// Returns the answer to an earlier call of a command about rights. The caller may have lost that
/// answer, so this call waits until the rights apply, as the first one did; it holds no locks
/// meanwhile.
async fn answered_before<T>(tx: DatabaseTransaction, earlier: T) -> Result<T, CommandError> {
    tx.rollback().await?;
    wait_until_rights_apply().await;
    Ok(earlier)
}

/// The user with this key, locked. Commands that may remove an administrator lock all
/// administrators first, so that two such commands do not deadlock.
async fn locked_user(tx: &DatabaseTransaction, id: Uuid) -> Result<user::Model, CommandError> {
    rows::lock(tx, id).await?.ok_or_else(|| CommandError::not_found("user", id))
}

/// The user with this name.
async fn user_named<C: ConnectionTrait>(
    connection: &C,
    name: &str,
) -> Result<user::Model, CommandError> {
    let found = rows::by_name(connection, name).await?;
    found.ok_or_else(|| CommandError::not_found("user", name))
}

impl From<PeopleError> for CommandError {
    fn from(error: PeopleError) -> Self {
        match error {
            PeopleError::BadInput { field, value, problem, help } => {
                BadInput::new(field, value, problem, help).into()
            }
            PeopleError::Exists { what, name } => {
                let problem = format!("is the name of an existing {what}");
                BadInput::new("name", name, problem, "choose another name").into()
            }
            PeopleError::NotFound { what, name } => Self::not_found(what, name),
            error @ PeopleError::LastAdministrator { .. } => {
                Self::conflict(error.to_string(), "make another user an administrator first")
            }
            PeopleError::Hash(problem) => {
                Self::Store(StoreError::Database(sea_orm::DbErr::Custom(problem)))
            }
            PeopleError::Store(error) => error.into(),
        }
    }
}
