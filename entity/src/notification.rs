//! A message on its way to a channel.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum State {
    /// It is to be sent, or sent again.
    Pending,
    /// The receiver took it.
    Sent,
    /// It was tried as often as it may be.
    Dead,
}

/// One message.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "notification")]
pub struct Model {
    /// Key; the same over all attempts, for the receiver.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The tenant.
    pub namespace_id: Uuid,
    /// The rule that it is of; null for a test.
    pub rule_id: Option<Uuid>,
    /// The channel that it goes to.
    pub channel_id: Uuid,
    /// See [`State`].
    pub state: State,
    /// In one line.
    pub subject: String,
    /// What it tells.
    #[sea_orm(column_type = "JsonBinary")]
    pub body: Json,
    /// How many alerts it stands for.
    pub alerts: i64,
    /// How often it was tried.
    pub attempts: i32,
    /// Not to be tried before.
    pub next_attempt_at: Timestamp,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// Which recipients of a mail have it, or were refused; null before any was.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub progress: Option<Json>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was sent or given up.
    pub settled_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
