//! The totals of one or several minutes: the columns of `run_stat`,
//! each defined once, and how two values are merged.

use entity::run;
use sea_orm::FromQueryResult;

use super::{spread::DurationSpread, stats::SettledRun};

/// Totals of runs and fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct Counts {
    /// Number of runs that succeeded.
    pub succeeded: i64,
    /// Number of runs that failed. The next two fields count the other final states.
    pub failed: i64,
    #[expect(missing_docs, reason = "run::State says it")]
    pub timed_out: i64,
    #[expect(missing_docs, reason = "run::State says it")]
    pub cancelled: i64,
    /// How many of the ended runs had been started or taken over by recovery.
    pub recovered: i64,
    /// How many of the ended runs had ever started. Only these have durations.
    pub started: i64,
    /// Sum of the durations of these runs, from start to end.
    pub duration_sum_ms: i64,
    /// The longest duration.
    pub duration_max_ms: i64,
    /// How many of the ended runs a fire had started. Only these have latenesses.
    pub fired: i64,
    /// Sum of the latenesses of these runs, from due time to hand-off.
    pub lateness_sum_ms: i64,
    /// The greatest lateness.
    pub lateness_max_ms: i64,
    /// Number of instants with the verdict `missed`.
    pub missed: i64,
    /// Number of instants with the verdict `skipped`.
    pub skipped: i64,
    /// Number of fires that were abandoned before they had a run.
    pub abandoned: i64,
    /// How long runs waited for a node, added up over all of them.
    pub runs_waited_ms: i64,
    /// How long jobs waited for a worker, added up over all of them.
    pub jobs_waited_ms: i64,
}

impl Counts {
    /// Number of runs that ended.
    pub fn ended(&self) -> i64 {
        self.succeeded + self.failed + self.timed_out + self.cancelled
    }

    /// Merges other totals into these.
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
            runs_waited_ms: self.runs_waited_ms + other.runs_waited_ms,
            jobs_waited_ms: self.jobs_waited_ms + other.jobs_waited_ms,
        };
    }

    /// Number of runs that failed or timed out.
    pub fn ended_badly(&self) -> i64 {
        self.failed + self.timed_out
    }
}

/// The totals, with the distributions of durations and latenesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollup {
    /// The totals without distributions.
    pub counts: Counts,
    /// The durations of the runs, from start to end.
    pub durations: DurationSpread,
    /// The latenesses of the runs, from due time to hand-off.
    pub latenesses: DurationSpread,
}

impl Rollup {
    /// Merges another roll-up into this one.
    pub fn join(&mut self, other: &Self) {
        self.counts.join(&other.counts);
        self.durations.join(&other.durations);
        self.latenesses.join(&other.latenesses);
    }

    /// Counts a run if it has settled.
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
            // The two times may come from the clocks of different nodes.
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

/// How two values of a column are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum MergeRule {
    /// The values are added.
    Sum,
    /// The greater value is kept.
    Greatest,
}

/// A column of totals, and how it is merged and read.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct CountColumn {
    pub(in crate::store) name: &'static str,
    pub(in crate::store) way: MergeRule,
    pub(in crate::store) of: fn(&Counts) -> i64,
}

/// All columns of totals.
pub(in crate::store) const COLUMNS: [CountColumn; 16] = [
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
    CountColumn { name: "runs_waited_ms", way: MergeRule::Sum, of: |counts| counts.runs_waited_ms },
    CountColumn { name: "jobs_waited_ms", way: MergeRule::Sum, of: |counts| counts.jobs_waited_ms },
];

/// The SELECT list that merges all columns over several minutes.
pub(in crate::store) fn added_up() -> String {
    let columns = COLUMNS.iter().map(|column| match (column.name, column.way) {
        (name, MergeRule::Sum) => format!("CAST(coalesce(sum({name}), 0) AS bigint) AS {name}"),
        (name, MergeRule::Greatest) => format!("coalesce(max({name}), 0) AS {name}"),
    });
    columns.collect::<Vec<_>>().join(", ")
}
