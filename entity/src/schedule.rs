//! A schedule: timing, zone, policies and context, referring to a workflow.

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
    /// No missed fire runs.
    Skip,
    /// The last missed fire runs, on behalf of all.
    Latest,
    /// Each missed fire runs, up to a limit.
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
    /// The fire waits after those already waiting, up to a limit.
    BufferAll,
    /// The run is asked to stop, and the fire waits until it has ended; a fire that is already
    /// waiting is dropped.
    CancelOther,
    /// The run is ended at once, and the fire starts.
    TerminateOther,
    /// The new run starts beside the live one.
    Allow,
}

/// What happens to a fixed local time that the clock skips.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum DstGap {
    /// The time fires once, at the first instant after the gap.
    Shift,
    /// The time does not fire.
    Skip,
}

/// In which pass a fixed local time fires if the clock repeats it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum DstOverlap {
    /// The time fires in the first pass.
    First,
    /// The time fires in the last pass.
    Last,
    /// The time fires in both passes.
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
    /// The namespace.
    pub namespace_id: Uuid,
    /// Unique among the namespace's schedules that are not deleted.
    pub name: String,
    /// A note for people.
    pub note: String,
    /// Labels for searching.
    #[sea_orm(column_type = "JsonBinary")]
    pub tags: Strings,
    /// The workflow.
    pub workflow_id: Uuid,
    /// The version of the definition, counted from 1. Pausing does not create a new one.
    pub version: i32,
    /// The last version that changed a fire's content, its time or whether it runs. Fires of an
    /// earlier version are stale. Changes to texts for people, or to the order of runs, leave this
    /// unchanged.
    pub fires_version: i32,

    /// Cron expressions, nicknames, `@every` or `@at`; the schedule fires at the union of all.
    #[sea_orm(column_type = "JsonBinary")]
    pub expressions: Strings,
    /// The IANA name of the time zone.
    pub zone: String,
    /// See [`DstGap`].
    pub dst_gap: DstGap,
    /// See [`DstOverlap`].
    pub dst_overlap: DstOverlap,
    /// The instant that `@every` counts from.
    pub anchor_at: Timestamp,
    /// The schedule does not fire before this instant.
    pub start_at: Option<Timestamp>,
    /// The schedule fires only before this instant.
    pub end_at: Option<Timestamp>,
    /// The maximum delay that is added to each fire's scheduled time.
    pub jitter_ms: i64,
    /// The calendars that suppress some of its fires; null for none.
    #[sea_orm(column_type = "JsonBinary")]
    pub calendars: Option<Keys>,
    /// The maximum number of fires that start; after them, the schedule is exhausted.
    pub max_fires: Option<i64>,
    /// How many fires have started or will start, counted since the schedule was created.
    pub fire_count: i64,
    /// The number of fires per hour at the rate of the busiest minute, for the namespace's quota.
    pub fires_an_hour: i64,

    /// See [`CatchUp`].
    pub catch_up: CatchUp,
    /// A fire that is claimed later than this after its due time was missed.
    pub grace_ms: i64,
    /// For `all`: the maximum number of fires that run.
    pub catch_up_max: i32,
    /// For `all`: the time between two of these fires.
    pub catch_up_spacing_ms: i64,
    /// Fires missed longer ago than this never run.
    pub catch_up_window_ms: i64,
    /// See [`Overlap`].
    pub overlap: Overlap,
    /// For `buffer_all`: the maximum number of waiting fires; 100 if null.
    pub buffer_limit: Option<i32>,
    /// The concurrency group whose limit the schedule's runs share.
    pub group_id: Option<Uuid>,
    /// The priority of waiting runs: those with a higher priority are taken first.
    pub priority: i16,
    /// A fire that has not started this long after its due time is skipped.
    pub start_deadline_ms: Option<i64>,
    /// A JSON object that is passed to each run.
    #[sea_orm(column_type = "JsonBinary")]
    pub context: Json,
    /// How many days the schedule's settled history is kept; null for its namespace's setting.
    pub retention_days: Option<i32>,
    /// The watchdog that the schedule calls; null for none. See the server's `engine::pings`.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub ping: Option<Json>,

    /// A stable hash of the id, modulo 256.
    pub shard: i16,
    /// False while the schedule is paused.
    pub enabled: bool,
    /// Why the schedule is paused.
    pub paused_reason: Option<String>,
    /// Who paused the schedule.
    pub paused_by: Option<String>,
    /// Since when the schedule is paused.
    pub paused_at: Option<Timestamp>,
    /// When the schedule resumes automatically.
    pub paused_until: Option<Timestamp>,

    /// The cursor: the next instant of the timing that is not accounted for. Null if there is none.
    pub next_scheduled_at: Option<Timestamp>,
    /// The cursor plus its jitter: when the planner claims that instant.
    pub next_fire_at: Option<Timestamp>,
    /// The last instant that was accounted for.
    pub last_fire_at: Option<Timestamp>,

    /// The module that declares it; null if a person created it.
    pub module: Option<String>,
    /// When the schedule was created.
    pub created_at: Timestamp,
    /// When the definition or the pause last changed.
    pub updated_at: Timestamp,
    /// Set when it was deleted.
    pub deleted_at: Option<Timestamp>,
    /// The change feed's position of the last write; see the server's `store::changes`.
    pub changed: i64,
}

impl ActiveModelBehavior for ActiveModel {}
