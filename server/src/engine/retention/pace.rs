//! How large a chunk is: as large as its time allows, learnt from the chunk of its table before.

use std::{collections::HashMap, time::Duration};

/// No chunk is to hold the writer for longer.
const LIMIT: Duration = Duration::from_millis(50);
/// What a chunk aims at: room for the slow ones among them.
const AIM: Duration = Duration::from_millis(20);
const LEAST: u64 = 10;
const MOST: u64 = 5_000;

/// The sizes of the next chunks. Each table has its own: a line of a log is deleted many times as
/// quickly as a run with its indexes, and must not say how many runs fit.
#[derive(Debug, Default)]
pub(super) struct Paces(HashMap<&'static str, Pace>);

impl Paces {
    /// How many rows of `table` a chunk may have.
    pub(super) fn rows(&self, table: &str) -> u64 {
        self.0.get(table).copied().unwrap_or_default().rows()
    }

    /// After a chunk of `table` that took so long.
    pub(super) fn learn(&mut self, table: &'static str, took: Duration) {
        let pace = self.0.entry(table).or_default();
        *pace = pace.after(took);
    }
}

/// The size of the next chunk of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pace {
    rows: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { rows: 100 }
    }
}

impl Pace {
    /// How many rows a chunk may have.
    fn rows(self) -> u64 {
        self.rows
    }

    /// After a chunk that took so long. It grows slowly, for a chunk that was quick may have had
    /// few rows, and shrinks at once.
    fn after(self, took: Duration) -> Self {
        let aim = u64::try_from(AIM.as_micros()).unwrap_or(u64::MAX);
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        let fitting = self.rows.saturating_mul(aim) / took_us;
        let most = if took > LIMIT { self.rows / 2 } else { self.rows.saturating_mul(2) };
        Self { rows: fitting.min(most).clamp(LEAST, MOST) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(rows: u64, ms: u64) -> u64 {
        Pace { rows }.after(Duration::from_millis(ms)).rows()
    }

    #[test]
    fn a_quick_chunk_is_followed_by_one_twice_as_large_at_the_most() {
        assert_eq!(after(100, 1), 200);
        assert_eq!(after(100, 15), 133);
        assert_eq!(after(100, 0), 200);
    }

    #[test]
    fn a_slow_chunk_is_followed_by_one_that_fits() {
        assert_eq!(after(1_000, 40), 500);
        assert_eq!(after(1_000, 200), 100);
        assert_eq!(after(100, 51), 39);
    }

    #[test]
    fn a_chunk_is_never_nothing_and_never_everything() {
        assert_eq!(after(10, 10_000), LEAST);
        assert_eq!(after(MOST, 1), MOST);
        let mut pace = Pace::default();
        for ms in [0, u64::MAX / 2, 0, 50, 51] {
            pace = pace.after(Duration::from_millis(ms));
            assert!((LEAST..=MOST).contains(&pace.rows()));
        }
    }

    #[test]
    fn quick_lines_do_not_make_chunks_of_runs_larger() {
        let mut paces = Paces::default();
        for _ in 0..10 {
            paces.learn("task_log", Duration::from_millis(1));
        }
        assert_eq!((paces.rows("task_log"), paces.rows("run")), (MOST, 100));
    }

    #[test]
    fn on_a_machine_of_constant_speed_no_chunk_but_the_first_is_over_the_limit() {
        for us_a_row in [1, 10, 100, 1_000, 4_000] {
            let mut pace = Pace::default();
            for chunk in 0..100 {
                let took = Duration::from_micros(pace.rows() * us_a_row);
                assert!(chunk < 4 || took <= LIMIT, "{us_a_row} us a row: {took:?}");
                pace = pace.after(took);
            }
        }
    }
}
