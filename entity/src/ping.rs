//! The last call to the watchdog of a schedule: what is to be said, or was.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// What a call says.
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

/// One schedule's; what is newer takes its place.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "ping")]
pub struct Model {
    /// The schedule.
    #[sea_orm(primary_key, auto_increment = false)]
    pub schedule_id: Uuid,
    /// See [`Event`].
    pub event: Event,
    /// The run that it is about.
    pub run_id: Uuid,
    /// When that happened.
    pub happened_at: Timestamp,
    /// How often it was tried.
    pub attempts: i32,
    /// How many attempts have failed since a call last arrived, whatever they said.
    pub failures: i32,
    /// Not to be tried before; null: there is nothing to send.
    pub next_attempt_at: Option<Timestamp>,
    /// Why the last attempt failed, if it did.
    pub error: Option<String>,
    /// When a call last arrived, whatever it said.
    pub sent_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
