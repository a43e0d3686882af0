//! A schedule: timing, zone, policies and context, and the workflow that it runs.

use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{Keys, Strings, Timestamp};

/// The catch-up policy: which missed fires run late.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// No missed fire runs.
    Skip,
    /// The last missed fire runs in place of all of them.
    Latest,
    /// Every missed fire runs, up to a limit.
    All,
}

/// The overlap policy: the fate of a fire while a run of the same schedule is live.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// The fire is skipped.
    Skip,
    /// The fire waits; while a fire waits, later ones are skipped.
    BufferOne,
    /// The fire waits after those that are already waiting, up to a limit.
    BufferAll,
    /// The run is asked to stop, and the fire waits until it has ended.
    /// A fire that is already waiting is dropped.
    CancelOther,
    /// The run is ended at once, and the fire starts.
    TerminateOther,
    /// The new run starts beside the live one.
    Allow,
}

/// The policy for a fixed local time that the clock skips.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum DstGap {
    /// A skipped time fires once, at the first instant after the gap.
    Shift,
    /// A skipped time does not fire.
    Skip,
}

/// In which pass a fixed local time fires if the clock repeats it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum, Serialize, Deserialize,
)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum DstOverlap {
    /// A repeated time fires in the first pass only.
    First,
    /// A repeated time fires in the last pass only.
    Last,
    /// A repeated time fires in both passes.
    Both,
}

/// One schedule.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "schedule")]
pub struct Model {
    /// The schedule's primary key.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The schedule's namespace.
    pub namespace_id: Uuid,
    /// The schedule's name, unique among those in the namespace that are not deleted.
    pub name: String,
    /// A note about the schedule.
    pub note: String,
    /// Labels for searching.
    #[sea_orm(column_type = "JsonBinary")]
    pub tags: Strings,
    /// The workflow that the schedule runs.
    pub workflow_id: Uuid,
    /// The version of the schedule's definition, counted from 1.
    /// A pause does not create a new version.
    pub version: i32,
    /// The last version that changed a fire's content, its time or whether it runs.
    /// Fires of an earlier version are stale.
    /// Changes that affect only texts for people or the order of runs leave this version as it is.
    pub fires_version: i32,

    /// Cron expressions, nicknames, `@every` or `@at`. The schedule fires when any of them does.
    #[sea_orm(column_type = "JsonBinary")]
    pub expressions: Strings,
    /// The IANA name of the time zone.
    pub zone: String,
    /// The schedule's policy for a time that the clock skips. See [`DstGap`].
    pub dst_gap: DstGap,
    /// The schedule's policy for a time that the clock repeats. See [`DstOverlap`].
    pub dst_overlap: DstOverlap,
    /// The instant from which `@every` counts.
    pub anchor_at: Timestamp,
    /// The schedule does not fire before this instant (inclusive).
    pub start_at: Option<Timestamp>,
    /// The schedule does not fire at or after this instant.
    pub end_at: Option<Timestamp>,
    /// The maximum delay that is added to each fire's scheduled time.
    pub jitter_ms: i64,
    /// The calendars that suppress some of the schedule's fires; null if there are none.
    #[sea_orm(column_type = "JsonBinary")]
    pub calendars: Option<Keys>,
    /// Maximum number of fires that start; after that many, the schedule is exhausted.
    pub max_fires: Option<i64>,
    /// Number of fires that have started or will start, since the schedule was created.
    pub fire_count: i64,
    /// Fires per hour at the rate of the busiest minute, for the namespace's quota.
    pub fires_an_hour: i64,

    /// The schedule's catch-up policy. See [`CatchUp`].
    pub catch_up: CatchUp,
    /// A fire is missed if it is claimed later than this after its due time.
    pub grace_ms: i64,
    /// For the catch-up policy `all`: maximum number of fires that run late.
    pub catch_up_max: i32,
    /// For the catch-up policy `all`: the time between two fires that run late.
    pub catch_up_spacing_ms: i64,
    /// Fires missed longer ago than this never run.
    pub catch_up_window_ms: i64,
    /// The schedule's overlap policy. See [`Overlap`].
    pub overlap: Overlap,
    /// For the overlap policy `buffer_all`: maximum number of waiting fires; 100 if null.
    pub buffer_limit: Option<i32>,
    /// The concurrency group whose limit the schedule's runs share.
    pub group_id: Option<Uuid>,
    /// The priority of the schedule's waiting runs: runs with a higher priority are taken first.
    pub priority: i16,
    /// A fire that has not started this long after its due time is skipped.
    pub start_deadline_ms: Option<i64>,
    /// A JSON object that is passed to each run.
    #[sea_orm(column_type = "JsonBinary")]
    pub context: Json,
    /// How many days settled history is kept; null if the namespace's setting applies.
    pub retention_days: Option<i32>,
    /// The watchdog that the schedule calls; null if there is none.
    /// The server's `engine::pings` calls it.
    #[sea_orm(column_type = "JsonBinary", nullable)]
    pub ping: Option<Json>,

    /// A stable hash of the schedule's id, modulo 256.
    pub shard: i16,
    /// False while the schedule is paused.
    pub enabled: bool,
    /// Why the schedule is paused.
    pub paused_reason: Option<String>,
    /// The user or token that paused the schedule, or `carillon`.
    pub paused_by: Option<String>,
    /// Since when the schedule is paused.
    pub paused_at: Option<Timestamp>,
    /// When the schedule resumes automatically.
    pub paused_until: Option<Timestamp>,
    /// Which of the pause's fires run when the schedule resumes automatically; [`CatchUp::Skip`] if
    /// null.
    pub paused_missed: Option<CatchUp>,
    /// The maintenance window that began the pause, or the last window that paused the schedule;
    /// null if a user or the server began the pause.
    pub paused_window_id: Option<Uuid>,
    /// When a planned pause begins: no instant that is due from here on is claimed.
    /// Null if none is planned.
    pub pause_from: Option<Timestamp>,
    /// The maintenance window that plans that pause.
    pub pause_window_id: Option<Uuid>,

    /// The cursor: the next instant of the timing that has no row in the ledger.
    /// Null if there is none.
    pub next_scheduled_at: Option<Timestamp>,
    /// The cursor plus its jitter: when the planner claims the instant.
    pub next_fire_at: Option<Timestamp>,
    /// The last instant that was recorded in the ledger.
    pub last_fire_at: Option<Timestamp>,

    /// The module that declares the schedule; null if a person created it.
    pub module: Option<String>,
    /// When the schedule was created.
    pub created_at: Timestamp,
    /// When the schedule's definition or its pause last changed.
    pub updated_at: Timestamp,
    /// When the schedule was deleted.
    pub deleted_at: Option<Timestamp>,
    /// The change feed's position of the last write; see the server's `store::changes`.
    pub changed: i64,
}

impl ActiveModelBehavior for ActiveModel {}
