//! The ledger: one row for each instant at which a schedule was due, saying what became of it.

use sea_orm::entity::prelude::*;

use crate::Timestamp;

/// What became of a fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum Verdict {
    /// The intent is written, the hand-off is not: nothing runs yet.
    Pending,
    /// Handed over: there is a run.
    Started,
    /// Decided not to run.
    Skipped,
    /// Nobody claimed it in time, and the policy does not make up for it.
    Missed,
    /// Missed, and a later fire ran for it.
    Collapsed,
    /// Could not be handed over or finished within the limits of recovery.
    Abandoned,
}

/// Why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(24))", rename_all = "snake_case")]
pub enum Reason {
    /// Claimed, waiting for the hand-off.
    AwaitingHandoff,
    /// Started when it was due, or within two seconds of that.
    OnTime,
    /// Started later than that, though it was not missed.
    Late,
    /// Missed, and made up for: by the catch-up policy, or after a pause.
    CaughtUp,
    /// Started by recovery after its hand-off was lost.
    Recovered,
    /// A run of the same schedule was alive.
    Overlap,
    /// A run of the same schedule was alive: it waits, or waited, until that had settled.
    Buffered,
    /// A run of the same schedule was alive, and as many fires waited as may.
    BufferFull,
    /// Its namespace had started as many fires in that minute as its quota allows.
    Quota,
    /// It waited, and somebody took it out of the buffer.
    Purged,
    /// A later fire of the same schedule took its place.
    Replaced,
    /// The schedule was paused.
    Paused,
    /// Its start deadline had passed.
    Deadline,
    /// The schedule was paused between claim and hand-off.
    Disabled,
    /// The schedule was deleted before it was claimed, or between claim and hand-off.
    Deleted,
    /// The schedule was edited before it was claimed, or between claim and hand-off.
    StaleVersion,
    /// No scheduler claimed it in time.
    Outage,
    /// Missed longer ago than the catch-up window.
    CatchUpWindow,
    /// Missed, and over the number that the catch-up policy runs.
    CatchUpLimit,
    /// A calendar of the schedule suppresses it.
    Calendar,
    /// Somebody asked for it to be skipped.
    ByRequest,
    /// Recovery tried as often as it may.
    AttemptsExhausted,
    /// Recovery found it too late.
    TooOld,
    /// Nothing had accounted for it, and a backfill started it.
    Backfilled,
}

/// What a fire is made up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(8))", rename_all = "snake_case")]
pub enum MadeUpFor {
    /// No scheduler claimed it in time.
    Outage,
    /// It fell into a pause.
    Pause,
}

/// What the clock did at a fire's local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::N(16))", rename_all = "snake_case")]
pub enum Kind {
    /// Nothing.
    Normal,
    /// The local time did not exist; the fire was moved to the end of the gap.
    Shifted,
    /// The local time came twice; this is the first.
    FirstOfTwo,
    /// The local time came twice; this is the second.
    SecondOfTwo,
}

/// One fire, or a range of fires of one fate.
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "fire")]
pub struct Model {
    /// Key. A run that a fire starts has the same key, so a fire cannot start two.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: Uuid,
    /// The tenant.
    pub namespace_id: Uuid,
    /// The schedule. Unique together with `scheduled_at`: the guarantee.
    pub schedule_id: Uuid,
    /// The version of the schedule that was claimed.
    pub schedule_version: i32,
    /// The instant of the timing.
    pub scheduled_at: Timestamp,
    /// The same with its jitter, or with the spacing of a catch-up.
    pub due_at: Timestamp,
    /// The last instant that this row accounts for; `scheduled_at` unless it is a range.
    pub last_scheduled_at: Timestamp,
    /// How many instants it accounts for.
    pub count: i64,
    /// See [`Kind`].
    pub kind: Kind,
    /// See [`Verdict`].
    pub verdict: Verdict,
    /// See [`Reason`].
    pub reason: Reason,
    /// What the reason names: the run in the way, the error of the last hand-off, the calendar, who
    /// asked for it and why; of one that was not in time, what kept it.
    pub detail: Option<String>,
    /// The node that claimed it.
    pub claimed_by: Option<Uuid>,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// When the verdict was final.
    pub decided_at: Option<Timestamp>,
    /// The run, from the hand-off on; of one that did not run by itself, the backfill's that made up
    /// for it.
    pub run_id: Option<Uuid>,
    /// Its place among the fires of the schedule that wait for a run to settle, the lowest first;
    /// null if it does not wait for that.
    pub queue_position: Option<i64>,
    /// How often recovery has tried to hand it over.
    pub recovery_attempts: i32,
    /// When recovery last tried.
    pub recovery_at: Option<Timestamp>,
    /// Set on a fire that runs although it was missed. Such fires skip each other never: they
    /// follow one another.
    pub made_up_for: Option<MadeUpFor>,
}

impl ActiveModelBehavior for ActiveModel {}
