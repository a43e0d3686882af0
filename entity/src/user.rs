//! A user of Carillon.

use sea_orm::{FromJsonQueryResult, entity::prelude::*};
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The permissions of a user. Each role includes the permissions of the one before it.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    EnumIter,
    DeriveActiveEnum,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum Role {
    /// May read everything in the namespaces to which the role applies.
    Viewer,
    /// May also trigger, cancel, retry, pause and resume.
    Operator,
    /// May also create, change and delete schedules and workflows, and deploy modules.
    Editor,
    /// May also manage users, tokens and secrets.
    Admin,
}

/// One user.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "user")]
pub struct Model {
    /// The user's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The user's name, which is unique.
    #[sea_orm(unique)]
    pub name: String,
    /// The normal form of the name, which must be unique: names that look alike share it.
    #[sea_orm(unique)]
    pub name_key: String,
    /// An Argon2id hash in PHC format; empty for a service account, which cannot sign in.
    pub password_hash: String,
    /// The user's role in every namespace; if null, only the memberships count.
    pub role: Option<Role>,
    /// Whether the user may see contexts, outputs and logs in every namespace.
    pub sees_payloads: bool,
    /// Whether the user is a program: it cannot sign in, and has only tokens.
    pub is_service: bool,
    /// When the user was created.
    pub created_at: Timestamp,
    /// When the user was disabled. A disabled user cannot sign in.
    pub disabled_at: Option<Timestamp>,
    /// Sessions that began before this time have ended.
    pub sessions_from: Option<Timestamp>,
    /// When the user last signed in.
    pub signed_in_at: Option<Timestamp>,
    /// The identity provider that authenticates the user, if any.
    pub issuer: Option<String>,
    /// The user's permanent id at the identity provider, unique per issuer.
    pub subject: Option<String>,
    /// The permissions from the user's groups at the
    /// identity provider, as of the last sign-in there.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub given_elsewhere: Option<GivenElsewhere>,
    /// When the user last signed in through the identity provider.
    pub given_at: Option<Timestamp>,
    /// Whether the password is for one use: someone else set it, and a session that was opened with
    /// it may only change it.
    pub must_change_password: bool,
}

/// The permissions that a user has from groups at an identity provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJsonQueryResult)]
#[serde(transparent)]
pub struct GivenElsewhere(pub Vec<GivenGrant>);

/// The permissions in one namespace, or in all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenGrant {
    /// The namespace; `None` for all namespaces.
    pub namespace: Option<Uuid>,
    /// The user's role in the namespace. See [`Role`].
    pub role: Role,
    /// Whether the user may see contexts, outputs and logs in the namespace.
    pub sees_payloads: bool,
}

impl ActiveModelBehavior for ActiveModel {}
