//! Roll-ups for charts: the runs and fires that settled, by namespace and minute.
//!
//! Runs are counted from the change feed, so firing writes nothing extra. A settled run never
//! changes again, so it appears in the feed as settled only once. One transaction writes the counts
//! and the new position in the feed, and checks the old position. So nothing is counted twice after
//! a crash, or if another node also writes. Old minutes are merged into hours (`hours`).

use std::collections::HashSet;

use entity::{Timestamp, run};
use sea_orm::{ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use super::{
    counts::{COLUMNS, CountColumn, MergeRule, Rollup},
    spread::DurationSpread,
};
use crate::store::{
    Cursor, DatabaseTransaction, Store, StoreError,
    db::bulk::{BulkValues, MAX_ROWS},
};

/// A settled run, with the facts that are counted.
#[derive(Clone, Debug, FromQueryResult)]
pub struct SettledRun {
    /// The key of the run.
    pub id: Uuid,
    /// The run's stamp in the feed.
    pub changed: i64,
    /// The namespace of the run.
    pub namespace_id: Uuid,
    /// The schedule, if the run had one.
    pub schedule_id: Option<Uuid>,
    /// The final state of the run.
    pub state: run::State,
    /// How the run was started. See [`run::Trigger`].
    pub trigger: run::Trigger,
    /// Whether recovery started the run or took it over.
    pub is_recovery: bool,
    /// When the run was due.
    pub due_at: Timestamp,
    /// When the run was created by the hand-off.
    pub created_at: Timestamp,
    /// When the first attempt started.
    pub started_at: Option<Timestamp>,
    /// When the run settled.
    pub finished_at: Timestamp,
}

/// A minute, and the namespace to which its counts belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NamespaceMinute {
    /// The namespace of the counts.
    pub namespace_id: Uuid,
    /// When the minute starts.
    pub minute: Timestamp,
}

/// The number of verdicts without a run in one minute of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct UnrunVerdicts {
    /// The namespace of the fires.
    pub namespace_id: Uuid,
    /// When the minute starts.
    pub minute: Timestamp,
    /// Number of instants that were missed.
    pub missed: i64,
    /// Number of instants that were skipped: on purpose (because of a calendar, a pause, a change
    /// or a request) or for load (because of a live run, a full buffer, a start deadline or a
    /// quota).
    pub skipped: i64,
    /// Number of fires that were abandoned before they had a run.
    /// An abandoned run counts as a run that ended.
    pub abandoned: i64,
}

/// Selects one of a roll-up's distributions.
type DistributionOf = fn(&Rollup) -> &DurationSpread;

/// The name of the feed whose position is stored.
const FEED: &str = "run";

impl Store {
    /// How far the feed of runs has been counted; `None` before the first count.
    pub async fn counted_until(&self) -> Result<Option<Cursor>, StoreError> {
        let sql = "SELECT changed, id FROM stat_position WHERE feed = $1";
        let statement = self.dialect().statement(sql, [FEED.into()]);
        Ok(Cursor::find_by_statement(statement).one(self.rounds()).await?)
    }

    /// The settled runs between `after` and `end`, in the order of the feed.
    pub async fn settled_between(
        &self,
        after: Cursor,
        end: Cursor,
        limit: u64,
    ) -> Result<Vec<SettledRun>, StoreError> {
        let sql = "SELECT id, changed, namespace_id, schedule_id, state, trigger, is_recovery, \
               due_at, created_at, started_at, coalesce(finished_at, created_at) AS finished_at \
             FROM run WHERE (changed, id) > ($1, $2) AND changed <= $3 \
               AND state NOT IN ('queued', 'running', 'retrying') \
             ORDER BY changed, id LIMIT $4";
        let values =
            [after.changed.into(), after.id.into(), end.changed.into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        Ok(SettledRun::find_by_statement(statement).all(self.rounds()).await?)
    }

    /// Adds the totals of the runs between two positions, unless another node has already counted
    /// beyond the first position. Returns whether it did.
    pub async fn add_counts_if_at(
        &self,
        tx: &DatabaseTransaction,
        counts: &[(NamespaceMinute, Rollup)],
        before: Option<Cursor>,
        until: Cursor,
    ) -> Result<bool, StoreError> {
        let moved = match before {
            None => self.dialect().statement(
                "INSERT INTO stat_position (feed, changed, id) VALUES ($1, $2, $3) \
                 ON CONFLICT (feed) DO NOTHING",
                [FEED.into(), until.changed.into(), until.id.into()],
            ),
            Some(before) => self.dialect().statement(
                "UPDATE stat_position SET changed = $2, id = $3 \
                 WHERE feed = $1 AND changed = $4 AND id = $5",
                [
                    FEED.into(),
                    until.changed.into(),
                    until.id.into(),
                    before.changed.into(),
                    before.id.into(),
                ],
            ),
        };
        if tx.execute_raw(moved).await?.rows_affected() == 0 {
            return Ok(false);
        }
        self.add_rollups(tx, counts).await?;
        Ok(true)
    }

    /// Adds roll-ups to those in the table.
    pub(in crate::store) async fn add_rollups(
        &self,
        tx: &DatabaseTransaction,
        rollups: &[(NamespaceMinute, Rollup)],
    ) -> Result<(), StoreError> {
        for part in rollups.chunks(MAX_ROWS) {
            self.add_counts(tx, part).await?;
        }
        Ok(())
    }

    async fn add_counts(
        &self,
        tx: &DatabaseTransaction,
        rollups: &[(NamespaceMinute, Rollup)],
    ) -> Result<(), StoreError> {
        let mut rows = BulkValues::default()
            .uuid("namespace_id", rollups.iter().map(|(at, _)| at.namespace_id))
            .int("minute", rollups.iter().map(|(at, _)| at.minute.0));
        let (mut names, mut set) = (Vec::new(), Vec::new());
        for CountColumn { name, of, way } in COLUMNS {
            rows = rows.int(name, rollups.iter().map(|(_, rollup)| of(&rollup.counts)));
            names.push(name);
            set.push(match way {
                MergeRule::Sum => format!("{name} = run_stat.{name} + excluded.{name}"),
                MergeRule::Greatest => format!(
                    "{name} = CASE WHEN excluded.{name} > run_stat.{name} \
                       THEN excluded.{name} ELSE run_stat.{name} END"
                ),
            });
        }
        let spreads: [(&'static str, DistributionOf); 2] = [
            ("durations", |rollup| &rollup.durations),
            ("latenesses", |rollup| &rollup.latenesses),
        ];
        for (name, of) in spreads {
            rows = rows.text(name, rollups.iter().map(|(_, rollup)| of(rollup).to_string()));
            names.push(name);
            set.push(format!("{name} = run_stat.{name} || ' ' || excluded.{name}"));
        }
        let (names, set) = (names.join(", "), set.join(", "));
        let sql = format!(
            "INSERT INTO run_stat (namespace_id, minute, {names}) \
             SELECT namespace_id, minute, {names} FROM v WHERE true \
             ON CONFLICT (namespace_id, minute) DO UPDATE SET {set}"
        );
        tx.execute_raw(rows.statement(self.dialect(), &sql, vec![])).await?;
        Ok(())
    }

    /// The verdicts without a run, by namespace and minute,
    /// for minutes that start at `since` or later.
    pub async fn unrun_since(&self, since: Timestamp) -> Result<Vec<UnrunVerdicts>, StoreError> {
        // Each verdict is found through an index of its own.
        let sql = "SELECT namespace_id, minute, CAST(sum(missed) AS bigint) AS missed, \
               CAST(sum(skipped) AS bigint) AS skipped, \
               CAST(sum(abandoned) AS bigint) AS abandoned \
             FROM (SELECT namespace_id, decided_at / 60000 * 60000 AS minute, \
                 CASE WHEN verdict = 'missed' THEN count ELSE 0 END AS missed, 0 AS skipped, \
                 CASE WHEN verdict = 'abandoned' AND run_id IS NULL THEN count ELSE 0 END \
                   AS abandoned \
               FROM fire WHERE verdict IN ('missed', 'abandoned') AND decided_at >= $1 \
               UNION ALL SELECT namespace_id, decided_at / 60000 * 60000, 0, count, 0 \
               FROM fire WHERE verdict = 'skipped' AND decided_at >= $1) unrun \
             GROUP BY namespace_id, minute";
        let statement = self.dialect().statement(sql, [since.0.into()]);
        Ok(UnrunVerdicts::find_by_statement(statement).all(self.rounds()).await?)
    }

    /// Sets the counts of verdicts without a run in these minutes, in place of earlier counts.
    pub async fn set_unrun(
        &self,
        tx: &DatabaseTransaction,
        minutes: &[UnrunVerdicts],
    ) -> Result<(), StoreError> {
        debug_assert_eq!(
            minutes.iter().map(|row| (row.namespace_id, row.minute)).collect::<HashSet<_>>().len(),
            minutes.len(),
            "a minute of a namespace comes once"
        );
        for part in minutes.chunks(MAX_ROWS) {
            let rows = BulkValues::default()
                .uuid("namespace_id", part.iter().map(|row| row.namespace_id))
                .int("minute", part.iter().map(|row| row.minute.0))
                .int("missed", part.iter().map(|row| row.missed))
                .int("skipped", part.iter().map(|row| row.skipped))
                .int("abandoned", part.iter().map(|row| row.abandoned));
            let sql = "INSERT INTO run_stat (namespace_id, minute, missed, skipped, abandoned) \
                 SELECT namespace_id, minute, missed, skipped, abandoned FROM v WHERE true \
                 ON CONFLICT (namespace_id, minute) DO UPDATE SET missed = excluded.missed, \
                   skipped = excluded.skipped, abandoned = excluded.abandoned";
            tx.execute_raw(rows.statement(self.dialect(), sql, vec![])).await?;
        }
        Ok(())
    }
}
