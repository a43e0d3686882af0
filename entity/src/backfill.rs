//! A request to run a schedule for past instants.

use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Which instants of its window a backfill runs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(24))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The backfill runs only instants that had no run.
    Missing,
    /// The backfill also runs instants whose runs have all failed.
    MissingAndFailed,
    /// The backfill also runs instants whose run succeeded: all except those with a live run.
    All,
}

/// The order in which a backfill starts its fires.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The oldest instant starts first.
    OldestFirst,
    /// The newest instant starts first.
    NewestFirst,
}

/// The state of a backfill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum State {
    /// The backfill starts runs.
    Running,
    /// The backfill starts no more runs; its live runs continue.
    Paused,
    /// The backfill was stopped on request. Its last runs may not have ended yet.
    Cancelled,
    /// All fires of the backfill have ended.
    Completed,
}

/// One backfill.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "backfill")]
pub struct Model {
    /// The backfill's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The backfill's namespace.
    pub namespace_id: Uuid,
    /// The schedule whose instants the backfill runs.
    pub schedule_id: Uuid,
    /// The version of the schedule whose timing produced the instants.
    pub schedule_version: i32,
    /// Start of the window, inclusive.
    pub from_at: Timestamp,
    /// End of the window, exclusive.
    pub to_at: Timestamp,
    /// Which instants the backfill includes. See [`Mode`].
    pub mode: Mode,
    /// The order in which the backfill's fires start. See [`Order`].
    pub fire_order: Order,
    /// Maximum number of the backfill's runs that may be live at once.
    pub concurrency: i32,
    /// Number of fires in the backfill.
    pub total: i32,
    /// The backfill's state. See [`State`].
    pub state: State,
    /// Why the backfill was requested.
    pub reason: String,
    /// The JSON that is merged into the schedule's context, key by key.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub context: Option<Json>,
    /// The user or token that requested the backfill.
    pub created_by: String,
    /// When the backfill was requested.
    pub created_at: Timestamp,
    /// The user or token that paused the backfill, or `carillon`; only while it is paused.
    pub paused_by: Option<String>,
    /// When the backfill was paused.
    pub paused_at: Option<Timestamp>,
    /// Why the backfill paused itself.
    pub paused_reason: Option<String>,
    /// The user or token that stopped the backfill, or `carillon`.
    pub cancelled_by: Option<String>,
    /// Why the backfill was stopped.
    pub cancel_reason: Option<String>,
    /// When the backfill was stopped.
    pub cancelled_at: Option<Timestamp>,
    /// When the last fire of the backfill ended.
    pub finished_at: Option<Timestamp>,
    /// The stamp of the last change of the backfill or its fires, for the change feed.
    pub changed: i64,
}

impl ActiveModelBehavior for ActiveModel {}
