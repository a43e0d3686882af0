//! The ledger: one row for each instant at which a schedule was due, with its outcome.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// The outcome of a fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum Verdict {
    /// The intent is written but not handed over: nothing runs yet.
    Pending,
    /// The fire was handed over: a run exists.
    Started,
    /// It was decided not to run the fire.
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
    /// The fire was claimed and waits for the hand-off.
    AwaitingHandoff,
    /// The fire started when it was due, or within two seconds of that.
    OnTime,
    /// The fire started later than that, but was not missed.
    Late,
    /// The fire was missed, and runs late: by the catch-up policy, or after a pause.
    CaughtUp,
    /// Recovery started the fire after its hand-off was lost.
    Recovered,
    /// A run of the same schedule was alive.
    Overlap,
    /// A run of the same schedule was alive: the fire waits, or waited, until that run had settled.
    Buffered,
    /// A run of the same schedule was alive, and the buffer was full.
    BufferFull,
    /// The namespace had used up its quota of fires for that minute.
    Quota,
    /// The fire waited, and was removed from the buffer on request.
    Purged,
    /// A later fire of the same schedule replaced the waiting one.
    Replaced,
    /// The schedule was paused.
    Paused,
    /// The start deadline had passed.
    Deadline,
    /// The schedule was paused between claim and hand-off.
    Disabled,
    /// The schedule was deleted before it was claimed, or between claim and hand-off.
    Deleted,
    /// The schedule was edited before it was claimed, or between claim and hand-off.
    StaleVersion,
    /// No scheduler claimed the fire in time.
    Outage,
    /// The fire was missed longer ago than the catch-up window.
    CatchUpWindow,
    /// The fire was missed, and is beyond the number that the catch-up policy runs.
    CatchUpLimit,
    /// A calendar of the schedule suppresses it.
    Calendar,
    /// A user requested that the fire be skipped.
    ByRequest,
    /// Recovery used up its tries for the fire.
    AttemptsExhausted,
    /// The fire was too old when recovery found it.
    TooOld,
    /// The instant had no row in the ledger, and a backfill started it.
    Backfilled,
}

/// Why a fire follows others instead of being decided on by the overlap policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum MadeUpFor {
    /// No scheduler claimed the fire in time.
    Outage,
    /// The fire fell into a pause.
    Pause,
    /// It was not missed: it was in time, was claimed together with fires that were missed, and
    /// waits for their runs. It stops none of them.
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
    /// The local time came twice; this is the first.
    FirstOfTwo,
    /// The local time came twice; this is the second.
    SecondOfTwo,
}

/// One fire, or a range of fires with the same verdict.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "fire")]
pub struct Model {
    /// Key. A run that a fire starts has the same key, so a fire cannot start two runs.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The namespace.
    pub namespace_id: Uuid,
    /// The schedule. A unique key over it and `scheduled_at` guarantees one row per instant.
    pub schedule_id: Uuid,
    /// The version of the schedule that was claimed.
    pub schedule_version: i32,
    /// The scheduled instant.
    pub scheduled_at: Timestamp,
    /// `scheduled_at` plus its jitter, or plus the spacing of a catch-up.
    pub due_at: Timestamp,
    /// The last instant that this row accounts for; `scheduled_at` unless it is a range.
    pub last_scheduled_at: Timestamp,
    /// How many instants the row accounts for.
    pub count: i64,
    /// See [`Kind`].
    pub kind: Kind,
    /// See [`Verdict`].
    pub verdict: Verdict,
    /// See [`Reason`].
    pub reason: Reason,
    /// Details of the reason: the blocking run, the error of the last hand-off, the calendar, or
    /// who requested it and why; for a late fire, what delayed it.
    pub detail: Option<String>,
    /// The node that claimed the fire.
    pub claimed_by: Option<Uuid>,
    /// When the fire was claimed.
    pub claimed_at: Timestamp,
    /// When the verdict was final.
    pub decided_at: Option<Timestamp>,
    /// The run, from the hand-off on; for a fire that did not run itself, the run of the backfill
    /// that ran its instant.
    pub run_id: Option<Uuid>,
    /// The fire's position among the schedule's fires that wait for a run to settle, lowest first;
    /// null if it does not wait for one.
    pub queue_position: Option<i64>,
    /// How often recovery has tried to hand the fire over.
    pub recovery_attempts: i32,
    /// When recovery last tried.
    pub recovery_at: Option<Timestamp>,
    /// Set on a fire that runs although it was missed, and says why it was missed; also set on one
    /// that follows such fires. They never skip or stop each other: they run one after another.
    pub made_up_for: Option<MadeUpFor>,
}

impl ActiveModelBehavior for ActiveModel {}
