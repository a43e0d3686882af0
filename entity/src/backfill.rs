//! An order to run a schedule for instants of the past.

use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Which instants of the window are wanted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(24))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Those that nothing has run for.
    Missing,
    /// And those whose runs all failed.
    MissingAndFailed,
    /// And those that succeeded: all but the ones at work.
    All,
}

/// In which order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// As time went.
    OldestFirst,
    /// The most recent first.
    NewestFirst,
}

/// Where a backfill stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum State {
    /// Starts runs.
    Running,
    /// Starts none; those at work go on.
    Paused,
    /// Somebody stopped it. Its last runs may still be ending.
    Cancelled,
    /// Each of its fires has come to an end.
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
    /// The tenant.
    pub namespace_id: Uuid,
    /// The schedule.
    pub schedule_id: Uuid,
    /// The version whose timing named the instants.
    pub schedule_version: i32,
    /// Begin of the window, inclusive.
    pub from_at: Timestamp,
    /// End of the window, exclusive.
    pub to_at: Timestamp,
    /// See [`Mode`].
    pub mode: Mode,
    /// See [`Order`].
    pub fire_order: Order,
    /// How many of its runs may be alive at once.
    pub concurrency: i32,
    /// How many fires it has.
    pub total: i32,
    /// See [`State`].
    pub state: State,
    /// Why somebody ordered it.
    pub reason: String,
    /// Laid over the schedule's context, key by key.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub context: Option<Json>,
    /// Who.
    pub created_by: String,
    /// When.
    pub created_at: Timestamp,
    /// Who paused it, while it is paused.
    pub paused_by: Option<String>,
    /// Since when it is paused.
    pub paused_at: Option<Timestamp>,
    /// Why it paused itself.
    pub paused_reason: Option<String>,
    /// Who stopped it.
    pub cancelled_by: Option<String>,
    /// Why.
    pub cancel_reason: Option<String>,
    /// When.
    pub cancelled_at: Option<Timestamp>,
    /// When the last of its fires came to an end.
    pub finished_at: Option<Timestamp>,
}

impl ActiveModelBehavior for ActiveModel {}
