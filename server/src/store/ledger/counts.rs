//! The totals of a minute of a namespace, or of several minutes: the columns of `run_stat`, each
//! defined once, and how two values are merged.

use entity::run;
use sea_orm::FromQueryResult;

use super::{spread::Spread, stats::SettledRun};

/// Totals of runs and fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct Counts {
    /// Runs that ended, by state.
    pub succeeded: i64,
    /// See `run::State`, like the next two.
    pub failed: i64,
    #[expect(missing_docs, reason = "run::State says it")]
    pub timed_out: i64,
    #[expect(missing_docs, reason = "run::State says it")]
    pub cancelled: i64,
    /// How many of these runs recovery had started or taken over.
    pub recovered: i64,
    /// How many of these runs had started: only these have durations.
    pub started: i64,
    /// The sum of their durations, from start to end.
    pub duration_sum_ms: i64,
    /// The longest duration.
    pub duration_max_ms: i64,
    /// How many of these runs a fire had started: only these have latenesses.
    pub fired: i64,
    /// The sum of their latenesses, from the due time to the hand-off.
    pub lateness_sum_ms: i64,
    /// The greatest lateness.
    pub lateness_max_ms: i64,
    /// Instants whose verdict was missed.
    pub missed: i64,
    /// Instants whose verdict was skipped.
    pub skipped: i64,
    /// Fires that were abandoned before they had a run.
    pub abandoned: i64,
}

impl Counts {
    /// Runs that ended.
    pub fn ended(&self) -> i64 {
        self.succeeded + self.failed + self.timed_out + self.cancelled
    }

    /// Adds another total.
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

    /// How many runs failed or timed out.
    pub fn ended_badly(&self) -> i64 {
        self.failed + self.timed_out
    }
}

/// The totals, with the distribution of durations and latenesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollup {
    /// The totals.
    pub counts: Counts,
    /// The durations of the runs, from start to end.
    pub durations: Spread,
    /// The latenesses of the runs, from due time to hand-off.
    pub latenesses: Spread,
}

impl Rollup {
    /// Adds another roll-up.
    pub fn join(&mut self, other: &Self) {
        self.counts.join(&other.counts);
        self.durations.join(&other.durations);
        self.latenesses.join(&other.latenesses);
    }

    /// Counts a run, if it has settled.
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
            // The two times may come from the clocks of two nodes.
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

/// How two values are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum MergeRule {
    /// The values are added.
    Sum,
    /// The greater one is kept.
    Greatest,
}

/// A column with a count.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct CountColumn {
    pub(in crate::store) name: &'static str,
    pub(in crate::store) way: MergeRule,
    pub(in crate::store) of: fn(&Counts) -> i64,
}

/// All columns.
pub(in crate::store) const COLUMNS: [CountColumn; 14] = [
    CountColumn { name: "succeeded", way: MergeRule::Sum, of: |counts| counts.succeeded },
    CountColumn { name: "failed", way: MergeRule::Sum, of: |counts| counts.failed },
    CountColumn { name: "timed_out", way: MergeRule::Sum, of: |counts| counts.timed_out },
    CountColumn { name: "cancelled", way: MergeRule::Sum, of: |counts| counts.cancelled },
    CountColumn { name: "recovered", way: MergeRule::Sum, of: |counts| counts.recovered },
    CountColumn { name: "started", way: MergeRule::Sum, of: |counts| counts.started },
    CountColumn {
        name: "duration_sum_ms",
        way: MergeRule::Sum,
        of: |counts| counts.duration_sum_ms,
    },
    CountColumn {
        name: "duration_max_ms",
        way: MergeRule::Greatest,
        of: |counts| counts.duration_max_ms,
    },
    CountColumn { name: "fired", way: MergeRule::Sum, of: |counts| counts.fired },
    CountColumn {
        name: "lateness_sum_ms",
        way: MergeRule::Sum,
        of: |counts| counts.lateness_sum_ms,
    },
    CountColumn {
        name: "lateness_max_ms",
        way: MergeRule::Greatest,
        of: |counts| counts.lateness_max_ms,
    },
    CountColumn { name: "missed", way: MergeRule::Sum, of: |counts| counts.missed },
    CountColumn { name: "skipped", way: MergeRule::Sum, of: |counts| counts.skipped },
    CountColumn { name: "abandoned", way: MergeRule::Sum, of: |counts| counts.abandoned },
];

/// The SELECT list that merges the columns over several minutes.
pub(in crate::store) fn added_up() -> String {
    let columns = COLUMNS.iter().map(|column| match (column.name, column.way) {
        (name, MergeRule::Sum) => format!("CAST(coalesce(sum({name}), 0) AS bigint) AS {name}"),
        (name, MergeRule::Greatest) => format!("coalesce(max({name}), 0) AS {name}"),
    });
    columns.collect::<Vec<_>>().join(", ")
}
