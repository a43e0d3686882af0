//! A person who signs in here.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// What somebody may do. Each role may do all that the one before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumIter, DeriveActiveEnum)]
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
    /// Argon2id, in PHC form.
    pub password_hash: String,
    /// See [`Role`].
    pub role: Role,
    /// When it was made.
    pub created_at: Timestamp,
    /// Set when it may no longer sign in.
    pub disabled_at: Option<Timestamp>,
    /// Sessions that began before are over.
    pub sessions_from: Option<Timestamp>,
    /// Last sign-in.
    pub signed_in_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
