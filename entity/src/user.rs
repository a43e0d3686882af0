//! A user of Carillon.

use sea_orm::{FromJsonQueryResult, entity::prelude::*};
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// What a user may do. Each role includes the permissions of the one before it.
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
    /// May look at everything in its namespaces.
    Viewer,
    /// May trigger, cancel, retry, pause and resume.
    Operator,
    /// May create, change and delete schedules and workflows, and deploy modules.
    Editor,
    /// May manage people, tokens and secrets.
    Admin,
}

/// One user.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "user")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// Unique.
    #[sea_orm(unique)]
    pub name: String,
    /// A normal form that is equal for names that look alike; unique.
    #[sea_orm(unique)]
    pub name_key: String,
    /// Argon2id, in PHC form; empty for a service account, which cannot sign in.
    pub password_hash: String,
    /// The role in every namespace; without one, only the memberships count.
    pub role: Option<Role>,
    /// Whether the user may see contexts, outputs and logs in every namespace.
    pub sees_payloads: bool,
    /// Whether the user is a program: it cannot sign in, and has only tokens.
    pub is_service: bool,
    /// When the user was created.
    pub created_at: Timestamp,
    /// Set when the user is disabled and may no longer sign in.
    pub disabled_at: Option<Timestamp>,
    /// Sessions that began before this have ended.
    pub sessions_from: Option<Timestamp>,
    /// Last sign-in.
    pub signed_in_at: Option<Timestamp>,
    /// The identity provider that authenticates the user, if any.
    pub issuer: Option<String>,
    /// The user's permanent id there; unique per issuer.
    pub subject: Option<String>,
    /// The permissions from the user's groups there, as of the last sign-in.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub given_elsewhere: Option<GivenElsewhere>,
    /// When that last sign-in was.
    pub given_at: Option<Timestamp>,
}

/// The permissions from a user's groups at an identity provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJsonQueryResult)]
#[serde(transparent)]
pub struct GivenElsewhere(pub Vec<GivenGrant>);

/// The permissions in one namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenGrant {
    /// The namespace; `None` for all.
    pub namespace: Option<Uuid>,
    /// See [`Role`].
    pub role: Role,
    /// Whether the user may see contexts, outputs and logs there.
    pub sees_payloads: bool,
}

impl ActiveModelBehavior for ActiveModel {}
