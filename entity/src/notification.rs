//! A message on its way to a channel.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum State {
    /// The message is yet to be sent, for the first time or again.
    Pending,
    /// The receiver accepted the message.
    Sent,
    /// All permitted attempts to send the message failed.
    Dead,
}

/// One message.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "notification")]
pub struct Model {
    /// The message's primary key: the same for all attempts,
    /// so that the receiver can recognise a duplicate.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The message's namespace.
    pub namespace_id: Uuid,
    /// The rule that created the message; null for a test.
    pub rule_id: Option<Uuid>,
    /// The channel to which the message is sent.
    pub channel_id: Uuid,
    /// The message's state. See [`State`].
    pub state: State,
    /// The message's subject: one line.
    pub subject: String,
    /// The message's content.
    #[sea_orm(column_type = "JsonBinary")]
    pub body: Json,
    /// Number of alerts in the message.
    pub alerts: i64,
    /// How many times an attempt was made to send the message.
    pub attempts: i32,
    /// The next attempt is not made before this instant.
    pub next_attempt_at: Timestamp,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// Which recipients of a mail have accepted or refused it, and which of its requests a receiver
    /// has accepted; null before the first attempt.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub progress: Option<Json>,
    /// When the message was created.
    pub created_at: Timestamp,
    /// When the message was sent, or when sending it was given up.
    pub settled_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
