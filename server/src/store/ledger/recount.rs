//! Counts the history rows that a namespace really has.
//!
//! The counts for quotas assume that a row is kept as long as its schedule's retention required
//! when it was counted. If that retention is shortened, rows that still count are already gone.
//! So nothing is removed for a quota before the counts have been corrected by the real rows.

use std::collections::BTreeMap;

use entity::Timestamp;
use sea_orm::{FromQueryResult, Value};
use uuid::Uuid;

use super::history::{PERIOD_MS, Period, PeriodRows};
use crate::store::{
    Cursor, Store, StoreError,
    db::days::{DAY_MS, day_of, first_key},
};

/// The counts of a namespace's history at one moment, and how far had been counted by that moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedHistory {
    /// The namespace whose history was counted.
    pub namespace_id: Uuid,
    /// The number of rows in each period.
    pub rows: BTreeMap<Period, i64>,
    /// The position up to which settled runs had been counted.
    pub runs: Cursor,
    /// The key of the last fire that had been counted.
    pub fires: Uuid,
}

impl CountedHistory {
    /// The amounts to add to the counts so that they match `real`, from the period `oldest` on.
    pub fn corrections(
        &self,
        real: &BTreeMap<Period, i64>,
        oldest: Timestamp,
    ) -> BTreeMap<Period, i64> {
        let mut changes = real.clone();
        for (at, count) in &self.rows {
            *changes.entry(*at).or_default() -= count;
        }
        changes.retain(|at, change| at.period >= oldest && *change != 0);
        changes
    }
}

/// The days, as ranges of milliseconds, whose rows can be in the periods from `oldest` on at `now`:
/// a run may settle up to a day after its key was created, and a clock may be ahead.
pub fn days_to_recount(oldest: Timestamp, now: Timestamp) -> impl Iterator<Item = (i64, i64)> {
    let (from, to) = (day_of(oldest.0 - DAY_MS), now.0.saturating_add(DAY_MS));
    let starts = std::iter::successors(Some(from), |from| from.checked_add(DAY_MS));
    starts.take_while(move |from| *from < to).map(|from| (from, from + DAY_MS))
}

impl Store {
    /// The counts of a namespace, including periods that are too
    /// old to count; `None` if there are none yet.
    pub async fn counted_history(
        &self,
        namespace: Uuid,
    ) -> Result<Option<CountedHistory>, StoreError> {
        #[derive(FromQueryResult)]
        struct PeriodRow {
            period: Timestamp,
            days: i32,
            row_count: i64,
            changed: i64,
            run_id: Uuid,
            fire_id: Uuid,
        }
        // This is one statement, because the counts and the positions must be of the same moment.
        let sql = "SELECT h.period, h.days, h.row_count, r.changed, r.id AS run_id, \
               f.id AS fire_id \
             FROM history_stat h JOIN stat_position r ON r.feed = 'run' \
               JOIN stat_position f ON f.feed = 'fire' \
             WHERE h.namespace_id = $1";
        let statement = self.dialect().statement(sql, [namespace.into()]);
        let found = PeriodRow::find_by_statement(statement).all(self.read()).await?;
        let Some(first) = found.first() else { return Ok(None) };
        let (changed, id, fires) = (first.changed, first.run_id, first.fire_id);
        let of = |row: &PeriodRow| {
            let at = Period { namespace_id: namespace, period: row.period, days: row.days };
            (at, row.row_count)
        };
        Ok(Some(CountedHistory {
            namespace_id: namespace,
            rows: found.iter().map(of).collect(),
            runs: Cursor { changed, id },
            fires,
        }))
    }

    /// Adds to `real` the rows of the namespace whose keys were created between these
    /// instants, as far as they had been counted.
    pub async fn recount_history(
        &self,
        counted: &CountedHistory,
        from: i64,
        to: i64,
        real: &mut BTreeMap<Period, i64>,
    ) -> Result<(), StoreError> {
        let namespace_id = counted.namespace_id;
        let keys = [Value::from(namespace_id), first_key(from).into(), first_key(to).into()];
        // The keys bound the search, also for attempts.
        // `CASE` keeps SQLite from using an index that begins with the namespace:
        // it would read the whole history of the namespace for each day.
        let runs = format!(
            "SELECT t.period, t.days, CAST(sum(t.row_count) AS bigint) AS row_count FROM ( \
               SELECT coalesce(r.finished_at, r.created_at) / {PERIOD_MS} * {PERIOD_MS} AS period, \
                 coalesce(s.retention_days, 0) AS days, \
                 1 + (SELECT count(*) FROM task_run a WHERE a.run_id = r.id \
                   AND a.run_id >= $2 AND a.run_id < $3) AS row_count \
               FROM run r LEFT JOIN schedule s ON s.id = r.schedule_id \
               WHERE r.id >= $2 AND r.id < $3 \
                 AND CASE WHEN r.namespace_id = $1 THEN 1 ELSE 0 END = 1 \
                 AND r.state NOT IN ('queued', 'running', 'retrying') \
                 AND (r.changed < $4 OR (r.changed = $4 AND r.id <= $5))) t \
             GROUP BY t.period, t.days"
        );
        let until: [Value; 2] = [counted.runs.changed.into(), counted.runs.id.into()];
        let runs = self.dialect().statement(runs, keys.iter().cloned().chain(until));
        let fires = format!(
            "SELECT t.period, t.days, count(*) AS row_count FROM ( \
               SELECT f.claimed_at / {PERIOD_MS} * {PERIOD_MS} AS period, \
                 coalesce(s.retention_days, 0) AS days \
               FROM fire f LEFT JOIN schedule s ON s.id = f.schedule_id \
               WHERE f.id >= $2 AND f.id < $3 AND f.id <= $4 \
                 AND CASE WHEN f.namespace_id = $1 THEN 1 ELSE 0 END = 1) t \
             GROUP BY t.period, t.days"
        );
        let fires = self.dialect().statement(fires, keys.into_iter().chain([counted.fires.into()]));
        for statement in [runs, fires] {
            let found = PeriodRows::find_by_statement(statement).all(self.read()).await?;
            for PeriodRows { period, days, row_count } in found {
                *real.entry(Period { namespace_id, period, days }).or_default() += row_count;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(period: i64, days: i32) -> Period {
        Period { namespace_id: Uuid::nil(), period: Timestamp(period), days }
    }

    #[test]
    fn removed_rows_do_not_count_and_rows_of_another_retention_count_there() {
        let counted = CountedHistory {
            namespace_id: Uuid::nil(),
            rows: [(at(1, 0), 5), (at(2, 0), 6), (at(3, 0), 7), (at(4, 0), 8)].into(),
            runs: Cursor::START,
            fires: Uuid::nil(),
        };
        let real = BTreeMap::from([(at(1, 0), 4), (at(3, 0), 2), (at(3, 9), 5), (at(4, 0), 8)]);
        let changes = counted.corrections(&real, Timestamp(2));
        let expected = BTreeMap::from([(at(2, 0), -6), (at(3, 0), -5), (at(3, 9), 5)]);
        assert_eq!(changes, expected);
    }

    #[test]
    fn the_day_before_the_oldest_period_is_read_too() {
        let (oldest, now) = (Timestamp(5 * DAY_MS + 7), Timestamp(6 * DAY_MS + 9));
        let days: Vec<i64> = days_to_recount(oldest, now).map(|(from, _)| from / DAY_MS).collect();
        assert_eq!(days, [4, 5, 6, 7]);
        assert!(days_to_recount(oldest, now).all(|(from, to)| to - from == DAY_MS));
    }
}
