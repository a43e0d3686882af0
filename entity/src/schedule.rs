//! When to do it: timing, zone, policies and context, pointing at a workflow.

use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{Keys, Strings, Timestamp};

/// What to do about fires that were missed.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// None of them runs.
    Skip,
    /// The last of them runs, for all.
    Latest,
    /// Each of them runs, up to a limit.
    All,
}

/// What to do about a fire while a run of the same schedule is alive.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// The fire is skipped.
    Skip,
    /// The fire waits; while one waits, later ones are skipped.
    BufferOne,
    /// The fire waits behind those that wait already, up to a limit.
    BufferAll,
    /// The run is asked to stop, and the fire waits until it has; one that waits already gives
    /// way.
    CancelOther,
    /// The run is ended at once, and the fire starts.
    TerminateOther,
    /// Both run.
    Allow,
}

/// What a fixed local time that the clock skips does.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum DstGap {
    /// Fires once at the first instant after the gap.
    Shift,
    /// Does not fire.
    Skip,
}

/// In which pass a fixed local time that the clock repeats fires.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum DstOverlap {
    /// The first.
    First,
    /// The last.
    Last,
    /// Each.
    Both,
}

/// One schedule.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "schedule")]
pub struct Model {
    /// Key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The tenant.
    pub namespace_id: Uuid,
    /// Unique among the namespace's living schedules.
    pub name: String,
    /// For people.
    pub note: String,
    /// For finding it again.
    #[sea_orm(column_type = "JsonBinary")]
    pub tags: Strings,
    /// What it runs.
    pub workflow_id: Uuid,
    /// Counts the definitions from 1. Pausing does not make a new one.
    pub version: i32,
    /// The last version that changed what a fire is, when it comes or whether it runs. Fires of an
    /// earlier one are stale; what people only read, and what only orders runs, leaves it alone.
    pub fires_version: i32,

    /// Cron, nickname, `@every` or `@at`: in union.
    #[sea_orm(column_type = "JsonBinary")]
    pub expressions: Strings,
    /// IANA name.
    pub zone: String,
    /// See [`DstGap`].
    pub dst_gap: DstGap,
    /// See [`DstOverlap`].
    pub dst_overlap: DstOverlap,
    /// Where `@every` counts from.
    pub anchor_at: Timestamp,
    /// Fires from here on.
    pub start_at: Option<Timestamp>,
    /// Fires before here only.
    pub end_at: Option<Timestamp>,
    /// Each fire is due up to so much after its scheduled time.
    pub jitter_ms: i64,
    /// The calendars that suppress some of its fires; null for none.
    #[sea_orm(column_type = "JsonBinary")]
    pub calendars: Option<Keys>,
    /// After so many fires that started none is left.
    pub max_fires: Option<i64>,
    /// How many have started, or were on their way to it, since it was made.
    pub fire_count: i64,
    /// How many fires an hour it has in its busiest minute, for the namespace's quota.
    pub fires_an_hour: i64,

    /// See [`CatchUp`].
    pub catch_up: CatchUp,
    /// A fire that is claimed later than this after its due time was missed.
    pub grace_ms: i64,
    /// For `all`: how many run at the most.
    pub catch_up_max: i32,
    /// For `all`: the time between two of them.
    pub catch_up_spacing_ms: i64,
    /// What was missed longer ago than this never runs.
    pub catch_up_window_ms: i64,
    /// See [`Overlap`].
    pub overlap: Overlap,
    /// For `buffer_all`: how many fires wait at the most; 100 if it does not say.
    pub buffer_limit: Option<i32>,
    /// The group that its runs share a limit with.
    pub group_id: Option<Uuid>,
    /// Of its runs that wait: those of a higher priority are taken first.
    pub priority: i16,
    /// A fire that has not started so long after its due time is skipped.
    pub start_deadline_ms: Option<i64>,
    /// JSON object that travels with each run.
    #[sea_orm(column_type = "JsonBinary")]
    pub context: Json,
    /// How many days its settled history is kept; as its namespace's without.
    pub retention_days: Option<i32>,
    /// Whom it calls; null for nobody. See the server's `engine::pings`.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub ping: Option<Json>,

    /// Stable hash of the id over 256.
    pub shard: i16,
    /// False while it is paused.
    pub enabled: bool,
    /// Why it is paused.
    pub paused_reason: Option<String>,
    /// Who paused it.
    pub paused_by: Option<String>,
    /// Since when.
    pub paused_at: Option<Timestamp>,
    /// When it resumes by itself.
    pub paused_until: Option<Timestamp>,

    /// The cursor: the next instant of the timing that is not accounted for. Null: none is left.
    pub next_scheduled_at: Option<Timestamp>,
    /// The cursor with its jitter: when the planner claims it.
    pub next_fire_at: Option<Timestamp>,
    /// The last instant that was accounted for.
    pub last_fire_at: Option<Timestamp>,

    /// The module that declares it; null when a person made it.
    pub module: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its definition or pause last changed.
    pub updated_at: Timestamp,
    /// Set when it was deleted.
    pub deleted_at: Option<Timestamp>,
    /// The change feed's position of the last write; see the server's `store::changes`.
    pub changed: i64,
}

impl ActiveModelBehavior for ActiveModel {}
