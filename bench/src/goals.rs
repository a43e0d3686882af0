//! The goals of docs/BENCHMARKS.md, by number: the required value and the desired value.

use std::fmt;

use serde::Serialize;

/// A goal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Goal {
    number: &'static str,
    must: f64,
    stretch: f64,
    is_ceiling: bool,
}

const fn at_most(number: &'static str, must: f64, stretch: f64) -> Goal {
    Goal { number, must, stretch, is_ceiling: true }
}

const fn at_least(number: &'static str, must: f64, stretch: f64) -> Goal {
    Goal { number, must, stretch, is_ceiling: false }
}

/// Exec/s of a storm on PostgreSQL, relative to another scheduler's in the same run.
pub(crate) const P1: Goal = at_least("P1", 40.0, 100.0);
/// Seconds for a storm of 10,000 on PostgreSQL.
pub(crate) const P2: Goal = at_most("P2", 10.0, 2.0);
/// Exec per CPU-second on PostgreSQL.
pub(crate) const P3: Goal = at_least("P3", 2_500.0, 6_000.0);
/// Exec/s of a storm, relative to RB.
pub(crate) const P4: Goal = at_least("P4", 0.05, 0.12);
/// Exec/s of a storm, relative to R1.
pub(crate) const P5: Goal = at_least("P5", 0.35, 0.7);
/// Exec/s of a storm, relative to SB.
pub(crate) const P6: Goal = at_least("P6", 0.08, 0.2);
/// Milliseconds to the first fire of a storm. This is stricter than the goal in the document, which
/// allows five commits in addition.
pub(crate) const P7: Goal = at_most("P7", 100.0, 30.0);
/// Exec/s at 10,000, relative to exec/s at 1,000.
pub(crate) const P8: Goal = at_least("P8", 0.8, 1.2);
/// Number of every-second schedules that PostgreSQL keeps up with.
pub(crate) const P9_POSTGRES: Goal = at_least("P9", 1_000.0, 3_000.0);
/// Number of every-second schedules that SQLite keeps up with.
pub(crate) const P9_SQLITE: Goal = at_least("P9", 500.0, 1_500.0);
/// Median lateness in milliseconds, for 100 every-second schedules.
pub(crate) const P10: Goal = at_most("P10", 25.0, 10.0);
/// The 99th percentile of the lateness of the same schedules, relative to that of timer and commit.
pub(crate) const P10_SHARE: Goal = at_most("P10", 10.0, 5.0);
/// Percentage of a core that an idle server uses with a million stored schedules.
pub(crate) const P11: Goal = at_most("P11", 1.0, 0.3);
/// The CPU of that server, relative to one with 100,000 stored schedules.
pub(crate) const P11_GROWTH: Goal = at_most("P11", 1.3, 1.1);
/// Megabytes of memory of that server.
pub(crate) const P11_MEMORY: Goal = at_most("P11", 80.0, 40.0);
/// Lateness with many stored schedules, relative to lateness with 100,000.
pub(crate) const P12: Goal = at_most("P12", 2.0, 1.3);
/// Milliseconds of the claim statement with many stored schedules.
pub(crate) const P12_CLAIM: Goal = at_most("P12", 20.0, 20.0);
/// Schedules created through GraphQL by 16 callers, relative to R1.
pub(crate) const P13: Goal = at_least("P13", 0.25, 0.5);
/// Rows written in bulk, relative to RB.
pub(crate) const P14: Goal = at_least("P14", 0.15, 0.3);
/// Exec/s of a storm with three nodes, relative to that with one.
pub(crate) const P15: Goal = at_least("P15", 0.9, 1.1);
/// Megabytes in a storm of 10,000.
pub(crate) const P16: Goal = at_most("P16", 150.0, 80.0);
/// Seconds until another node claims due fires.
pub(crate) const P17: Goal = at_most("P17", 5.0, 2.0);
/// Milliseconds to account for a year of missed fires.
pub(crate) const P18: Goal = at_most("P18", 100.0, 10.0);
/// Milliseconds for a list of schedules, at the median.
pub(crate) const P19: Goal = at_most("P19", 50.0, 10.0);
/// Milliseconds for a list of schedules, at the 99th percentile.
pub(crate) const P19_P99: Goal = at_most("P19", 200.0, 50.0);

/// Requests delivered per second in a storm, relative to the exec/s of a storm of no-ops.
pub(crate) const P21: Goal = at_least("P21", 0.6, 0.8);
/// Requests delivered per CPU-second in a storm, relative to a storm of no-ops.
pub(crate) const P22: Goal = at_least("P22", 0.55, 0.7);
/// Programs started per second in a storm, relative to `xargs -P 16`.
pub(crate) const P23: Goal = at_least("P23", 0.5, 0.8);
/// CPU per program, relative to that of `xargs`.
pub(crate) const P23_CPU: Goal = at_most("P23", 2.5, 1.6);
/// Lateness of the requests of every-second schedules in milliseconds, at the median.
pub(crate) const P24: Goal = at_most("P24", 25.0, 10.0);
/// Lateness of the requests of every-second schedules in milliseconds, at the 99th percentile.
pub(crate) const P24_P99: Goal = at_most("P24", 100.0, 40.0);
/// Events per second that a broker acknowledged in a storm, relative to the exec/s of a storm of
/// no-ops.
pub(crate) const P25: Goal = at_least("P25", 0.6, 0.8);
/// Jobs per second that workers completed in a storm, relative to the exec/s of a storm of no-ops.
pub(crate) const P26: Goal = at_least("P26", 0.3, 0.5);
/// Milliseconds from the due instant to the handler of a job, at the median.
pub(crate) const P26_P50: Goal = at_most("P26", 20.0, 10.0);
/// Milliseconds from the due instant to the handler of a job, at the 99th percentile.
pub(crate) const P26_P99: Goal = at_most("P26", 80.0, 40.0);
/// The 99th percentile of the lateness while another target hangs, relative to that without it.
pub(crate) const P28: Goal = at_most("P28", 3.0, 1.5);

/// Maximum lateness of another namespace's fires during an attack, in milliseconds.
pub(crate) const SIEGE_LATE: Goal = at_most("siege", 250.0, 100.0);
/// The growth of the server's memory during an attack, in megabytes.
pub(crate) const SIEGE_MEMORY: Goal = at_most("siege", 100.0, 25.0);
/// The server's CPU for each request or connection of an unauthenticated caller, in milliseconds.
pub(crate) const SIEGE_CPU: Goal = at_most("siege", 50.0, 10.0);

impl Goal {
    /// A word for how a figure compares with the goal.
    pub(crate) fn verdict(self, figure: f64) -> &'static str {
        let reaches = |mark: f64| if self.is_ceiling { figure <= mark } else { figure >= mark };
        if reaches(self.stretch) {
            "stretch met"
        } else if reaches(self.must) {
            "met"
        } else {
            "SHORT"
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} {}; {}", self.number, self.must, self.stretch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_reached_from_below_and_a_floor_from_above() {
        let of = |goal: Goal| [1.0, 5.0, 20.0].map(|figure| goal.verdict(figure));
        assert_eq!(of(at_most("P2", 10.0, 2.0)), ["stretch met", "met", "SHORT"]);
        assert_eq!(of(at_least("P8", 2.0, 10.0)), ["SHORT", "met", "stretch met"]);
        assert_eq!(P13.to_string(), "P13 0.25; 0.5");
    }
}
