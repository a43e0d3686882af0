//! The latest call to each schedule's external watchdog, pending or sent.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The event that a call to a watchdog reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum Event {
    /// A run began.
    Start,
    /// A run succeeded.
    Success,
    /// A run failed or timed out.
    Failure,
}

/// The latest call of one schedule. A newer event replaces an older one.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "ping")]
pub struct Model {
    /// The schedule that has the watchdog.
    #[sea_orm(primary_key, auto_increment = false)]
    pub schedule_id: Uuid,
    /// The event that the call reports. See [`Event`].
    pub event: Event,
    /// The run that the call reports.
    pub run_id: Uuid,
    /// When the reported event happened.
    pub happened_at: Timestamp,
    /// Number of attempts to make the call.
    pub attempts: i32,
    /// Number of failed attempts since a call last arrived, for any event.
    pub failures: i32,
    /// The next attempt is not made before this instant; null if there is nothing to send.
    pub next_attempt_at: Option<Timestamp>,
    /// Why the last attempt failed, if it did.
    pub error: Option<String>,
    /// When a call last arrived at the watchdog, for any event.
    pub sent_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
