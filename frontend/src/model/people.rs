//! Users, roles, tokens, sessions and secrets.

use serde::Deserialize;

use super::{FeedKind, Role, Row, SecretUserKind, ViewerKind};
use crate::time::Moment;

/// A user's role in a namespace; without a namespace, in all of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoleGrant {
    pub(crate) namespace: Option<String>,
    pub(crate) role: Role,
    pub(crate) sees_payloads: bool,
}

/// A person or a service account.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct User {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) role: Option<Role>,
    pub(crate) sees_payloads: bool,
    pub(crate) is_service_account: bool,
    pub(crate) created_at: Moment,
    pub(crate) disabled_at: Option<Moment>,
    pub(crate) signed_in_at: Option<Moment>,
    /// Whether the user has a one-time password.
    pub(crate) must_change_password: bool,
    pub(crate) issuer: Option<String>,
    pub(crate) memberships: Vec<RoleGrant>,
    pub(crate) given_elsewhere: Vec<RoleGrant>,
}

impl Row for User {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A member of a namespace.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Membership {
    pub(crate) user_id: String,
    pub(crate) user: String,
    pub(crate) namespace: String,
    pub(crate) role: Role,
    pub(crate) sees_payloads: bool,
    pub(crate) created_at: Moment,
}

impl Row for Membership {
    fn id(&self) -> &str {
        &self.user_id
    }
}

/// A token that a program authenticates with.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApiToken {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) owner: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) role: Role,
    pub(crate) sees_payloads: bool,
    pub(crate) created_by: String,
    pub(crate) created_at: Moment,
    pub(crate) expires_at: Option<Moment>,
    pub(crate) revoked_at: Option<Moment>,
    pub(crate) used_at: Option<Moment>,
}

impl Row for ApiToken {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A signed-in browser.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) address: Option<String>,
    pub(crate) browser: Option<String>,
    pub(crate) began_at: Option<Moment>,
    pub(crate) used_at: Option<Moment>,
    pub(crate) expires_at: Moment,
    pub(crate) is_current: bool,
}

impl Session {
    /// Where the browser is.
    pub(crate) fn place(&self) -> String {
        self.address.clone().unwrap_or_else(|| "an unknown address".to_owned())
    }

    /// The browser's name.
    pub(crate) fn program(&self) -> String {
        self.browser.clone().unwrap_or_else(|| "Unknown browser".to_owned())
    }
}

/// The signed-in user, with all roles.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Profile {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: ViewerKind,
    pub(crate) role: Role,
    pub(crate) role_everywhere: Option<Role>,
    pub(crate) grants: Vec<RoleGrant>,
}

/// A secret value that tasks may use and users cannot read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Secret {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: i64,
    pub(crate) key_id: String,
    pub(crate) set_by: String,
    pub(crate) created_at: Moment,
    pub(crate) updated_at: Moment,
    pub(crate) used_by: SecretUse,
}

/// The objects that name a secret.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SecretUse {
    pub(crate) count: i64,
    /// The first objects that name the secret.
    pub(crate) users: Vec<SecretUser>,
    /// Whether there may be more objects than were counted.
    pub(crate) is_cut: bool,
}

/// An object that names a secret.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct SecretUser {
    pub(crate) kind: SecretUserKind,
    pub(crate) id: String,
    pub(crate) name: String,
}

impl Row for Secret {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A calendar feed of upcoming runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CalendarFeed {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: FeedKind,
    pub(crate) namespace: Option<String>,
    pub(crate) schedule_id: Option<String>,
    pub(crate) search: Option<String>,
    pub(crate) created_at: Moment,
    pub(crate) used_at: Option<Moment>,
}
