//! The ledger: one row for each instant at which a schedule was due, with its outcome.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The outcome of a fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum Verdict {
    /// The fire is recorded but not handed over yet: it has no run.
    Pending,
    /// The fire was handed over: a run exists.
    Started,
    /// The fire does not run: a policy, a pause, a change or a user prevented it.
    Skipped,
    /// No node claimed the fire in time, and the catch-up policy does not run it.
    Missed,
    /// The fire was missed, and a later fire ran in its place.
    Collapsed,
    /// The fire could not be handed over or finished within the limits of recovery.
    Abandoned,
}

/// Why a fire has its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(24))", rename_all = "snake_case")]
pub enum Reason {
    /// The fire was claimed and waits to be handed over.
    AwaitingHandoff,
    /// The fire started at most two seconds after it was due.
    OnTime,
    /// The fire started more than two seconds after it was due, but was not missed.
    Late,
    /// The fire was missed, and runs late: by the catch-up policy, or after a pause.
    CaughtUp,
    /// Recovery started the fire after its hand-off had been lost.
    Recovered,
    /// The fire was skipped: a run of the same schedule was live.
    Overlap,
    /// A run of the same schedule was live: the fire waits, or waited, until that run had settled.
    Buffered,
    /// The fire was skipped: a run of the same schedule was live, and the buffer was full.
    BufferFull,
    /// The namespace had used up its quota of fires for the minute.
    Quota,
    /// A user removed the waiting fire from the buffer.
    Purged,
    /// A later fire of the same schedule replaced the waiting one.
    Replaced,
    /// The schedule was paused.
    Paused,
    /// The fire's start deadline had passed.
    Deadline,
    /// The schedule was paused after the fire was claimed and before it was handed over.
    Disabled,
    /// The schedule was deleted before the fire was claimed, or before it was handed over.
    Deleted,
    /// The schedule was edited before the fire was claimed, or before it was handed over.
    StaleVersion,
    /// No scheduler claimed the fire in time.
    Outage,
    /// The fire was missed longer ago than the catch-up window.
    CatchUpWindow,
    /// The fire was missed, and the policy's maximum number of late runs is already used up.
    CatchUpLimit,
    /// A calendar of the schedule suppresses the fire.
    Calendar,
    /// A user requested that the fire be skipped.
    ByRequest,
    /// Recovery has tried the maximum number of times to hand the fire over.
    AttemptsExhausted,
    /// The fire was too old when recovery found it.
    TooOld,
    /// The instant had no row in the ledger, and a backfill started it.
    Backfilled,
}

/// Why a fire waits for earlier fires instead of being subject to the overlap policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum MadeUpFor {
    /// No scheduler claimed the fire in time.
    Outage,
    /// The fire fell into a pause.
    Pause,
    /// The fire was on time, but was claimed together with missed fires.
    /// It waits for their runs and stops none of them.
    Follows,
}

/// The effect of a clock change on a fire's local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum Kind {
    /// The local time of the fire is not affected by a clock change.
    Normal,
    /// The local time did not exist; the fire was moved to the end of the gap.
    Shifted,
    /// The local time occurred twice, and this is the first time.
    FirstOfTwo,
    /// The local time occurred twice, and this is the second time.
    SecondOfTwo,
}

/// One fire, or a range of fires with the same verdict.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "fire")]
pub struct Model {
    /// The fire's primary key.
    /// The run that a fire starts has the same key, so a fire cannot start two.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The fire's namespace.
    pub namespace_id: Uuid,
    /// The schedule.
    /// A unique key over this column and `scheduled_at` guarantees one row per instant.
    pub schedule_id: Uuid,
    /// The version of the schedule from which the fire was claimed.
    pub schedule_version: i32,
    /// The instant at which the schedule fires.
    pub scheduled_at: Timestamp,
    /// When the fire may start: `scheduled_at` plus jitter, or plus the spacing of late runs.
    pub due_at: Timestamp,
    /// The last instant of the row: `scheduled_at` unless the row is a range.
    pub last_scheduled_at: Timestamp,
    /// Number of instants in the row.
    pub count: i64,
    /// The effect of a clock change on the fire. See [`Kind`].
    pub kind: Kind,
    /// The fire's verdict. See [`Verdict`].
    pub verdict: Verdict,
    /// Why the fire has its verdict. See [`Reason`].
    pub reason: Reason,
    /// Details of the reason: the blocking run, the error of the last hand-off, the calendar, or
    /// who made the request and why; for a late fire, the cause of the delay.
    pub detail: Option<String>,
    /// The node that claimed the fire.
    pub claimed_by: Option<Uuid>,
    /// When the fire was claimed.
    pub claimed_at: Timestamp,
    /// When the verdict became final.
    pub decided_at: Option<Timestamp>,
    /// The run of the fire, once it has been handed over.
    /// For a fire that did not run, the run of the backfill that later ran its instant.
    pub run_id: Option<Uuid>,
    /// The fire's position among the schedule's fires that wait for a run to settle, lowest first;
    /// null if the fire does not wait for a run.
    pub queue_position: Option<i64>,
    /// How many times recovery has tried to hand the fire over.
    pub recovery_attempts: i32,
    /// When recovery last tried to hand the fire over.
    pub recovery_at: Option<Timestamp>,
    /// Why a late fire was missed; also set on a fire that waits for such fires.
    /// Fires with a value never skip or stop each other: they run one after another.
    pub made_up_for: Option<MadeUpFor>,
    /// The stamp of the row's last change for the change feed: only for fires that wait in a
    /// buffer, or were decided without a run. The feed of runs contains the others.
    pub changed: Option<i64>,
}

impl ActiveModelBehavior for ActiveModel {}
