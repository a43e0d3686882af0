//! A person who signs in here.

use sea_orm::{FromJsonQueryResult, entity::prelude::*};
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// What somebody may do. Each role may do all that the one before it may.
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
    /// Look.
    Viewer,
    /// Trigger, cancel, retry, pause, resume.
    Operator,
    /// Make, change and delete schedules and workflows, deploy modules.
    Editor,
    /// People, tokens, secrets.
    Admin,
}

/// One person.
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
    /// What names that look alike have in common; unique.
    #[sea_orm(unique)]
    pub name_key: String,
    /// Argon2id, in PHC form; of a service account, of which nobody signs in, empty.
    pub password_hash: String,
    /// What it may do in every namespace; without one it has what its memberships give it.
    pub role: Option<Role>,
    /// Whether it sees contexts, outputs and logs in every namespace.
    pub sees_payloads: bool,
    /// Whether it is a program's: it cannot sign in, and has tokens only.
    pub is_service: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// Set when it may no longer sign in.
    pub disabled_at: Option<Timestamp>,
    /// Sessions that began before are over.
    pub sessions_from: Option<Timestamp>,
    /// Last sign-in.
    pub signed_in_at: Option<Timestamp>,
    /// The identity provider that knows them, if one does.
    pub issuer: Option<String>,
    /// As whom, for ever; unique for the issuer.
    pub subject: Option<String>,
    /// What their groups there let them do here, as of their last sign-in.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub given_elsewhere: Option<GivenElsewhere>,
    /// When that sign-in was.
    pub given_at: Option<Timestamp>,
}

/// What somebody may do because of their groups at an identity provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, FromJsonQueryResult)]
#[serde(transparent)]
pub struct GivenElsewhere(pub Vec<GivenGrant>);

/// The same in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenGrant {
    /// Where; everywhere without one.
    pub namespace: Option<Uuid>,
    /// See [`Role`].
    pub role: Role,
    /// Whether they see contexts, outputs and logs there.
    pub sees_payloads: bool,
}

impl ActiveModelBehavior for ActiveModel {}
