//! What a minute of a namespace came to, or any stretch of minutes: the columns of `run_stat`, each
//! named once, and how two values of it become one.

use entity::run;
use sea_orm::FromQueryResult;

use super::{spread::Spread, stats::SettledRun};

/// What runs and fires came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct Counts {
    /// Runs that ended, by their end.
    pub succeeded: i64,
    /// See `run::State`, like the next two.
    pub failed: i64,
    #[expect(missing_docs, reason = "run::State says it")]
    pub timed_out: i64,
    #[expect(missing_docs, reason = "run::State says it")]
    pub cancelled: i64,
    /// Those of them that recovery had started or taken over.
    pub recovered: i64,
    /// Those of them that had started, whose durations these are.
    pub started: i64,
    /// From start to end, added up.
    pub duration_sum_ms: i64,
    /// The longest.
    pub duration_max_ms: i64,
    /// Those of them that a fire had started, whose latenesses these are.
    pub fired: i64,
    /// From the due time to the hand-off, added up.
    pub lateness_sum_ms: i64,
    /// The latest.
    pub lateness_max_ms: i64,
    /// Instants that were decided to be missed.
    pub missed: i64,
    /// Instants that were decided to be skipped.
    pub skipped: i64,
    /// Fires that were given up before they had a run.
    pub abandoned: i64,
}

impl Counts {
    /// Runs that ended.
    pub fn ended(&self) -> i64 {
        self.succeeded + self.failed + self.timed_out + self.cancelled
    }

    /// Counts all that others have counted.
    pub fn join(&mut self, other: &Self) {
        *self = Self {
            succeeded: self.succeeded + other.succeeded,
            failed: self.failed + other.failed,
            timed_out: self.timed_out + other.timed_out,
            cancelled: self.cancelled + other.cancelled,
            recovered: self.recovered + other.recovered,
            started: self.started + other.started,
            duration_sum_ms: self.duration_sum_ms + other.duration_sum_ms,
            duration_max_ms: self.duration_max_ms.max(other.duration_max_ms),
            fired: self.fired + other.fired,
            lateness_sum_ms: self.lateness_sum_ms + other.lateness_sum_ms,
            lateness_max_ms: self.lateness_max_ms.max(other.lateness_max_ms),
            missed: self.missed + other.missed,
            skipped: self.skipped + other.skipped,
            abandoned: self.abandoned + other.abandoned,
        };
    }

    /// Those of them that failed or took too long.
    pub fn ended_badly(&self) -> i64 {
        self.failed + self.timed_out
    }
}

/// The same, and how long runs took and how late they were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollup {
    /// How many.
    pub counts: Counts,
    /// From start to end.
    pub durations: Spread,
    /// From the due time to the hand-off.
    pub latenesses: Spread,
}

impl Rollup {
    /// Counts all that another one has counted.
    pub fn join(&mut self, other: &Self) {
        self.counts.join(&other.counts);
        self.durations.join(&other.durations);
        self.latenesses.join(&other.latenesses);
    }

    /// Counts a run. One that has not settled does not count.
    pub fn add(&mut self, run: &SettledRun) {
        let Self { counts, durations, latenesses } = self;
        match run.state {
            run::State::Succeeded => counts.succeeded += 1,
            run::State::Failed => counts.failed += 1,
            run::State::TimedOut => counts.timed_out += 1,
            run::State::Cancelled => counts.cancelled += 1,
            run::State::Queued | run::State::Running | run::State::Retrying => return,
        }
        counts.recovered += i64::from(run.is_recovery);
        if let Some(started_at) = run.started_at {
            // The clocks of two nodes may have been read.
            let took = (run.finished_at.0 - started_at.0).max(0);
            counts.started += 1;
            counts.duration_sum_ms += took;
            counts.duration_max_ms = counts.duration_max_ms.max(took);
            durations.add(took);
        }
        if run.trigger == run::Trigger::Schedule {
            let late = (run.created_at.0 - run.due_at.0).max(0);
            counts.fired += 1;
            counts.lateness_sum_ms += late;
            counts.lateness_max_ms = counts.lateness_max_ms.max(late);
            latenesses.add(late);
        }
    }
}

/// How two values become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum MergeRule {
    /// They are added.
    Sum,
    /// The greater one counts.
    Greatest,
}

/// A column of counts.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Column {
    pub(in crate::store) name: &'static str,
    pub(in crate::store) way: MergeRule,
    pub(in crate::store) of: fn(&Counts) -> i64,
}

/// All of them.
pub(in crate::store) const COLUMNS: [Column; 14] = [
    Column { name: "succeeded", way: MergeRule::Sum, of: |counts| counts.succeeded },
    Column { name: "failed", way: MergeRule::Sum, of: |counts| counts.failed },
    Column { name: "timed_out", way: MergeRule::Sum, of: |counts| counts.timed_out },
    Column { name: "cancelled", way: MergeRule::Sum, of: |counts| counts.cancelled },
    Column { name: "recovered", way: MergeRule::Sum, of: |counts| counts.recovered },
    Column { name: "started", way: MergeRule::Sum, of: |counts| counts.started },
    Column { name: "duration_sum_ms", way: MergeRule::Sum, of: |counts| counts.duration_sum_ms },
    Column {
        name: "duration_max_ms",
        way: MergeRule::Greatest,
        of: |counts| counts.duration_max_ms,
    },
    Column { name: "fired", way: MergeRule::Sum, of: |counts| counts.fired },
    Column { name: "lateness_sum_ms", way: MergeRule::Sum, of: |counts| counts.lateness_sum_ms },
    Column {
        name: "lateness_max_ms",
        way: MergeRule::Greatest,
        of: |counts| counts.lateness_max_ms,
    },
    Column { name: "missed", way: MergeRule::Sum, of: |counts| counts.missed },
    Column { name: "skipped", way: MergeRule::Sum, of: |counts| counts.skipped },
    Column { name: "abandoned", way: MergeRule::Sum, of: |counts| counts.abandoned },
];

/// The columns of counts over several minutes.
pub(in crate::store) fn added_up() -> String {
    let columns = COLUMNS.iter().map(|column| match (column.name, column.way) {
        (name, MergeRule::Sum) => format!("CAST(coalesce(sum({name}), 0) AS bigint) AS {name}"),
        (name, MergeRule::Greatest) => format!("coalesce(max({name}), 0) AS {name}"),
    });
    columns.collect::<Vec<_>>().join(", ")
}
