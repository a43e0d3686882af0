//! A request to run a schedule for past instants.

use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Which instants of the window are included.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(24))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Instants that have had no run.
    Missing,
    /// In addition, the backfill runs instants whose runs have all failed.
    MissingAndFailed,
    /// In addition, the backfill runs instants whose runs succeeded: all except those at work.
    All,
}

/// The order in which fires start.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Chronological.
    OldestFirst,
    /// Most recent first.
    NewestFirst,
}

/// The state of a backfill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum State {
    /// The backfill starts runs.
    Running,
    /// The backfill starts no runs; those at work continue.
    Paused,
    /// The backfill was stopped on request. Its last runs may still be ending.
    Cancelled,
    /// All fires of the backfill have ended.
    Completed,
}

/// One backfill.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "backfill")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The namespace.
    pub namespace_id: Uuid,
    /// The schedule.
    pub schedule_id: Uuid,
    /// The version whose timing produced the instants.
    pub schedule_version: i32,
    /// Start of the window, inclusive.
    pub from_at: Timestamp,
    /// End of the window, exclusive.
    pub to_at: Timestamp,
    /// See [`Mode`].
    pub mode: Mode,
    /// See [`Order`].
    pub fire_order: Order,
    /// How many of its runs may be alive at once.
    pub concurrency: i32,
    /// The number of its fires.
    pub total: i32,
    /// See [`State`].
    pub state: State,
    /// Why the backfill was requested.
    pub reason: String,
    /// The JSON that is merged into the schedule's context, key by key.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub context: Option<Json>,
    /// Who requested the backfill.
    pub created_by: String,
    /// When the backfill was requested.
    pub created_at: Timestamp,
    /// Who paused the backfill, while it is paused.
    pub paused_by: Option<String>,
    /// Since when the backfill is paused.
    pub paused_at: Option<Timestamp>,
    /// Why the backfill paused itself.
    pub paused_reason: Option<String>,
    /// Who stopped the backfill.
    pub cancelled_by: Option<String>,
    /// Why the backfill was stopped.
    pub cancel_reason: Option<String>,
    /// When the backfill was stopped.
    pub cancelled_at: Option<Timestamp>,
    /// When the last of its fires ended.
    pub finished_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
