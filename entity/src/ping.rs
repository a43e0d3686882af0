//! The latest call to a schedule's watchdog: pending, or sent.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// What a call reports.
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

/// The ping of one schedule; a newer event replaces it.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "ping")]
pub struct Model {
    /// The schedule.
    #[sea_orm(primary_key, auto_increment = false)]
    pub schedule_id: Uuid,
    /// See [`Event`].
    pub event: Event,
    /// The run concerned.
    pub run_id: Uuid,
    /// When that event happened.
    pub happened_at: Timestamp,
    /// The number of attempts.
    pub attempts: i32,
    /// How many attempts have failed since a call last arrived, for any event.
    pub failures: i32,
    /// The next attempt is not made before this instant; null if there is nothing to send.
    pub next_attempt_at: Option<Timestamp>,
    /// Why the last attempt failed, if it did.
    pub error: Option<String>,
    /// When a call last arrived, for any event.
    pub sent_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
