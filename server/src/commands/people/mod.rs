//! What people order of one another: who there is, what they may do where, and by what they come in.
//!
//! Whoever is an administrator everywhere orders all of it; an administrator of a namespace says who
//! its members are; everybody has their own password, sessions and tokens. One administrator who can
//! sign in always remains. No input sets what it does not name: a role is given by the orders that
//! are about roles, and nothing else.
//!
//! - `users`: added, disabled, deleted, given a role everywhere
//! - `memberships`: roles in single namespaces
//! - `passwords`: one's own and, by an administrator, another's
//! - `sessions`: ended from elsewhere
//! - `tokens`, `feeds`: made, taken back
//! - `settings`: what the console keeps for a person
//! - `tenants`: namespaces made and renamed

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
    access::{PeopleError, rights_count},
    model::check,
    store::{DatabaseTransaction, StoreError, users as rows},
};

/// Why it was done, if somebody says.
fn check_reason(reason: Option<&str>) -> Result<(), BadInput> {
    reason.map_or(Ok(()), |reason| check::text("reason", reason, 500))
}

/// What an order about rights was answered before. That answer may never have come, so this one waits
/// as it did; nothing is held meanwhile.
async fn answered_before<T>(tx: DatabaseTransaction, earlier: T) -> Result<T, CommandError> {
    tx.rollback().await?;
    rights_count().await;
    Ok(earlier)
}

/// The user of that key, locked. Who may take an administrator away locks those first, so that two
/// do not wait for each other.
async fn locked_user(tx: &DatabaseTransaction, id: Uuid) -> Result<user::Model, CommandError> {
    rows::lock(tx, id).await?.ok_or_else(|| CommandError::not_found("user", id))
}

/// The user of that name.
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
                let problem = format!("is the name of a {what} that is there");
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
