//! A message on its way to a channel.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum State {
    /// The message must still be sent, or be sent again.
    Pending,
    /// The receiver accepted it.
    Sent,
    /// All permitted attempts failed.
    Dead,
}

/// One message.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "notification")]
pub struct Model {
    /// Key; the same for all attempts, so that the receiver can recognise a duplicate.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The namespace.
    pub namespace_id: Uuid,
    /// The rule that created the message; null for a test.
    pub rule_id: Option<Uuid>,
    /// The channel to which the message is sent.
    pub channel_id: Uuid,
    /// See [`State`].
    pub state: State,
    /// The subject, one line.
    pub subject: String,
    /// The content.
    #[sea_orm(column_type = "JsonBinary")]
    pub body: Json,
    /// The number of alerts in it.
    pub alerts: i64,
    /// How often the message was attempted.
    pub attempts: i32,
    /// The next attempt is not made before this instant.
    pub next_attempt_at: Timestamp,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// Which recipients of a mail have received or refused it; null before the first.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub progress: Option<Json>,
    /// When the notification was created.
    pub created_at: Timestamp,
    /// When the notification was sent, or when its delivery was given up.
    pub settled_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
