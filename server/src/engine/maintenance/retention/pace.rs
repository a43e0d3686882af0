//! The size of a chunk: as large as its time limit permits,
//! learnt from earlier chunks of the same table.

use std::{collections::HashMap, time::Duration};

/// The target durations of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Aim {
    /// The target for the deletes alone.
    /// It leaves time for the commit and for an occasional slow chunk.
    worked: Duration,
    /// The limit for a whole chunk, including its commit.
    took: Duration,
}

/// SQLite has a single writer, so every fire waits while a chunk is deleted.
const ONE_WRITER: Aim = Aim { worked: Duration::from_millis(15), took: Duration::from_millis(50) };
/// On PostgreSQL, other transactions write while a chunk is deleted.
const MANY_WRITERS: Aim = Aim { worked: Duration::from_millis(100), took: Duration::from_secs(1) };
/// The smallest and the largest chunk, in rows. Fewer rows than the minimum take about as long,
/// because most of that time is the overhead of a statement and a commit.
const MIN: u64 = 50;
const MAX: u64 = 5_000;

/// Maximum size of a chunk in bytes, however few rows it then has.
const MAX_BYTES: i64 = 1_000_000;

/// Number of rows of these sizes that fit into one chunk: at least one.
pub(super) fn fitting(sizes: impl Iterator<Item = i64>) -> usize {
    let mut sum: i64 = 0;
    let fits = sizes.take_while(|size| {
        sum = sum.saturating_add(*size);
        sum <= MAX_BYTES
    });
    fits.count().max(1)
}

/// The size of the next chunk for each table. A log line is deleted much faster than a run with its
/// indexes, so it must not determine how many runs fit.
#[derive(Debug)]
pub(super) struct DeletionPaces {
    aim: Aim,
    tables: HashMap<&'static str, DeletionPace>,
}

/// The measurements of a finished chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct FinishedChunk {
    /// Number of rows that the chunk deleted.
    pub(super) rows: u64,
    /// How long the deletes took.
    pub(super) worked: Duration,
    /// How long the chunk took, including the commit.
    pub(super) took: Duration,
}

impl DeletionPaces {
    pub(super) fn new(one_writer: bool) -> Self {
        let aim = if one_writer { ONE_WRITER } else { MANY_WRITERS };
        Self { aim, tables: HashMap::new() }
    }

    /// Number of rows of `table` that the next chunk may contain.
    pub(super) fn rows(&self, table: &str) -> u64 {
        self.tables.get(table).copied().unwrap_or_default().rows
    }

    /// Adjusts the size of the next chunk of `table` by a finished one.
    pub(super) fn learn(&mut self, table: &'static str, done: FinishedChunk) {
        let pace = self.tables.entry(table).or_default();
        *pace = pace.after(done, self.aim);
    }
}

/// The size of a table's next chunk, and the cost per row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DeletionPace {
    rows: u64,
    /// Nanoseconds per deleted row, from the slowest recent chunk, decaying over time.
    cost: u64,
}

impl Default for DeletionPace {
    fn default() -> Self {
        Self { rows: 100, cost: 0 }
    }
}

impl DeletionPace {
    /// The pace after a chunk. A slow chunk counts fully at once, a quick one only gradually,
    /// because it may have been luck.
    /// A chunk of few rows says nothing about a large one. Each commit has the same cost
    /// for syncing, so commits count only if the whole chunk took too long.
    fn after(self, done: FinishedChunk, aim: Aim) -> Self {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let most = if done.took > aim.took {
            self.rows / 2
        } else if done.rows >= self.rows / 2 {
            self.rows.saturating_mul(2)
        } else {
            self.rows
        };
        let seen = if done.rows < MIN { self.cost } else { nanos(done.worked) / done.rows };
        // If the machine was suspended during a chunk, the time says nothing about rows.
        // So the cost is capped, and `MIN` rows always fit.
        let cost = seen.max(self.cost - self.cost / 8 + seen / 8).min(nanos(aim.worked) / MIN);
        let fitting = nanos(aim.worked) / cost.max(1);
        Self { rows: fitting.min(most).clamp(MIN, MAX), cost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// A chunk in which the database needed this many microseconds per row.
    fn done(rows: u64, us_a_row: u64, commit: u64) -> FinishedChunk {
        let worked = us(rows.saturating_mul(us_a_row));
        FinishedChunk { rows, worked, took: worked.saturating_add(us(commit)) }
    }

    /// The pace after a chunk on SQLite.
    fn after(pace: DeletionPace, done: FinishedChunk) -> DeletionPace {
        pace.after(done, ONE_WRITER)
    }

    fn pace(rows: u64) -> DeletionPace {
        DeletionPace { rows, cost: 0 }
    }

    #[test]
    fn a_quick_chunk_is_followed_by_one_twice_as_large_at_the_most() {
        assert_eq!(after(pace(100), done(100, 1, 0)).rows, 200);
        assert_eq!(after(pace(100), done(100, 100, 0)).rows, 150);
    }

    #[test]
    fn a_slow_chunk_is_followed_by_one_that_fits() {
        assert_eq!(after(pace(1_000), done(1_000, 30, 0)).rows, 500);
        assert_eq!(after(pace(1_000), done(1_000, 150, 0)).rows, 100);
        assert_eq!(after(pace(1_000), done(100, 250, 0)).rows, 60);
    }

    #[test]
    fn a_chunk_of_few_rows_is_no_reason_for_larger_ones() {
        assert_eq!(after(pace(1_000), done(499, 1, 0)).rows, 1_000);
        assert_eq!(after(pace(1_000), done(500, 1, 0)).rows, 2_000);
    }

    #[test]
    fn large_rows_fill_a_chunk_before_their_number_does() {
        assert_eq!(fitting([400_000, 400_000, 400_000].into_iter()), 2);
        assert_eq!(fitting([2_000_000, 1].into_iter()), 1);
        assert_eq!(fitting([1; 9].into_iter()), 9);
    }

    #[test]
    fn a_slow_disk_shrinks_a_chunk_only_over_the_limit() {
        assert_eq!(after(pace(1_000), done(1_000, 15, 30_000)).rows, 1_000);
        assert_eq!(after(pace(1_000), done(1_000, 15, 40_000)).rows, 500);
    }

    #[test]
    fn a_slow_chunk_is_not_forgotten_for_a_quick_one() {
        let mut pace = after(pace(1_000), done(1_000, 60, 0));
        assert_eq!(pace.rows, 250);
        pace = after(pace, done(pace.rows, 6, 0));
        assert!(pace.rows < 300, "{pace:?}");
        for _ in 0..30 {
            pace = after(pace, done(pace.rows, 6, 0));
        }
        assert!(pace.rows > 2_000, "{pace:?}");
    }

    #[test]
    fn a_chunk_is_never_nothing_and_never_everything() {
        let mut pace = DeletionPace::default();
        for us_a_row in [0, u64::MAX / 2, 0, 50, 51, 100_000] {
            pace = after(pace, done(pace.rows, us_a_row, 0));
            assert!((MIN..=MAX).contains(&pace.rows));
        }
        for _ in 0..200 {
            pace = after(pace, done(pace.rows, 0, 0));
        }
        assert_eq!(pace.rows, MAX);
    }

    #[test]
    fn quick_lines_do_not_make_chunks_of_runs_larger() {
        let mut paces = DeletionPaces::new(true);
        for _ in 0..10 {
            paces.learn("task_log", done(paces.rows("task_log"), 1, 0));
        }
        assert_eq!((paces.rows("task_log"), paces.rows("run")), (MAX, 100));
    }

    #[test]
    fn on_a_machine_of_constant_speed_no_chunk_but_the_first_is_over_the_limit() {
        for us_a_row in [1, 10, 100, 500, 1_000] {
            let mut pace = DeletionPace::default();
            for chunk in 0..100 {
                let done = done(pace.rows, us_a_row, 0);
                assert!(chunk < 4 || done.took <= ONE_WRITER.took, "{us_a_row} us a row: {done:?}");
                pace = after(pace, done);
            }
        }
    }
}
