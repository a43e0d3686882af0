//! Deletes rows outside the ledger that are no longer needed.
//! The audit log and the versions of schedules are kept for ever:
//! it must be known who changed what, even long after the object itself is gone.

use std::time::Duration;

use sea_orm::{ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use super::{RetentionRule, rule::before};
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{
        bulk::BulkValues,
        rows::{KeyRow, RowCount},
    },
    ledger::runs::millis,
};

/// The kinds of rows outside the ledger that are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// Sessions that have expired.
    Sessions,
    /// Stored answers to calls that will not be repeated any more.
    Answers,
    /// The instants of backfills that have ended.
    Instants,
    /// Backfills that have ended, removed at the same age as their runs.
    Backfills,
    /// Schedules that were deleted a week ago.
    Schedules,
    /// Workflows that were deleted a week ago and to which no run refers.
    Workflows,
    /// Lives of nodes that ended so long ago that no attempt refers to them.
    Nodes,
    /// Alerts that are over, at the age of the history that they are about, unless their event could
    /// be reported again; and alerts of deleted rules.
    Alerts,
    /// Messages that were sent or whose delivery was given up.
    Notifications,
    /// Maintenance windows that are over. They are kept as long as the longest history, which has
    /// the fires that fell into them.
    Windows,
    /// Roll-ups, which are kept as long as the longest history.
    Minutes,
    /// Counts of history, which are kept as long as the longest history.
    Periods,
}

/// Number of days for which deleted objects can be restored.
pub const DELETED_DAYS: i32 = 7;

/// Maximum number of days before a clock change on which a rule can report it.
pub const MAX_CLOCK_CHANGE_DAYS: i32 = 60;

impl Leftover {
    /// All kinds, in the order in which they are removed: instants are found by their backfill, and
    /// a schedule refers to its workflow.
    pub const ALL: [Self; 12] = [
        Self::Sessions,
        Self::Answers,
        Self::Instants,
        Self::Backfills,
        Self::Schedules,
        Self::Workflows,
        Self::Nodes,
        Self::Alerts,
        Self::Notifications,
        Self::Windows,
        Self::Minutes,
        Self::Periods,
    ];

    /// The name of the table.
    pub fn table(self) -> &'static str {
        match self {
            Self::Sessions => "session",
            Self::Answers => "idempotency",
            Self::Instants => "backfill_fire",
            Self::Backfills => "backfill",
            Self::Schedules => "schedule",
            Self::Workflows => "workflow",
            Self::Nodes => "node",
            Self::Alerts => "alert",
            Self::Notifications => "notification",
            Self::Windows => "maintenance_window",
            Self::Minutes => "run_stat",
            Self::Periods => "history_stat",
        }
    }

    /// Whether the search for such rows takes so long that it must precede the transaction that
    /// takes the writer. A row that was deleted a week ago cannot become needed again in between.
    pub fn is_looked_for_before(self) -> bool {
        match self {
            Self::Schedules | Self::Workflows => true,
            Self::Sessions
            | Self::Answers
            | Self::Instants
            | Self::Backfills
            | Self::Nodes
            | Self::Alerts
            | Self::Notifications
            | Self::Windows
            | Self::Minutes
            | Self::Periods => false,
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Answers => "\"actor\", \"key\"",
            Self::Instants => "\"backfill_id\", \"position\"",
            Self::Sessions
            | Self::Backfills
            | Self::Schedules
            | Self::Workflows
            | Self::Nodes
            | Self::Alerts
            | Self::Notifications
            | Self::Windows => "id",
            Self::Minutes => "\"namespace_id\", \"minute\"",
            Self::Periods => "\"namespace_id\", \"period\", \"days\"",
        }
    }

    pub(super) fn condition(
        self,
        store: &Store,
        rule: &RetentionRule,
        answers: Duration,
    ) -> String {
        let now = rule.now();
        let ended = || {
            let (joins, cutoff) = (rule.joins(), rule.cutoff());
            format!("(SELECT t.id FROM backfill t {joins} WHERE t.finished_at < {cutoff})")
        };
        match self {
            Self::Instants => format!("backfill_fire.backfill_id IN {}", ended()),
            Self::Backfills => format!("backfill.id IN {}", ended()),
            Self::Minutes => format!("run_stat.minute < {}", rule.last().0),
            Self::Periods => format!("history_stat.period < {}", rule.last().0),
            Self::Sessions => format!("session.expires_at <= {now}"),
            Self::Answers => format!("idempotency.at < {}", now - millis(answers)),
            // The pending fires and live runs of a deleted schedule still need it. Each kind of
            // intent is looked up in its own partial index, because any other access is slow.
            Self::Schedules => format!(
                "schedule.deleted_at < {} \
                 AND NOT EXISTS (SELECT 1 FROM run WHERE run.schedule_id = schedule.id \
                   AND run.state IN ('queued', 'running', 'retrying')) \
                 AND NOT EXISTS (SELECT 1 FROM fire WHERE fire.schedule_id = schedule.id \
                   AND fire.verdict = 'pending' AND fire.claimed_by IS NOT NULL) \
                 AND NOT EXISTS (SELECT 1 FROM fire WHERE fire.schedule_id = schedule.id \
                   AND fire.verdict = 'pending' AND fire.queue_position IS NOT NULL) \
                 AND schedule.id NOT IN (SELECT fire.schedule_id FROM fire \
                   WHERE fire.verdict = 'pending' AND fire.claimed_by IS NULL \
                   AND fire.queue_position IS NULL AND fire.due_at >= 0) \
                 AND NOT EXISTS (SELECT 1 FROM backfill WHERE backfill.schedule_id = schedule.id \
                   AND backfill.finished_at IS NULL)",
                before(now, DELETED_DAYS)
            ),
            // The search for a workflow's runs reads all
            // runs, so it is made only when they can be gone.
            Self::Workflows => format!(
                "workflow.deleted_at < {} \
                 AND NOT EXISTS (SELECT 1 FROM schedule WHERE schedule.workflow_id = workflow.id) \
                 AND NOT EXISTS (SELECT 1 FROM run WHERE run.workflow_id = workflow.id)",
                rule.last().0.min(before(now, DELETED_DAYS))
            ),
            // The event of an alert must stay recorded as long as it is found: until the clocks have
            // changed, or until the alert service has read the end of the run that started late, for
            // which it gets a day. Otherwise it would be reported again.
            Self::Alerts => {
                let (joins, cutoff) = (rule.joins(), rule.cutoff());
                format!(
                    "(alert.id IN (SELECT t.id FROM alert t {joins} \
                     WHERE t.ended_at < {cutoff} AND t.tell_at IS NULL \
                       AND (t.kind <> 'clock_change' OR t.ended_at < {}) \
                       AND (t.kind <> 'late' OR NOT EXISTS (SELECT 1 FROM run \
                         WHERE run.id = t.run_id AND (run.finished_at > {} \
                           OR run.state IN ('queued', 'running', 'retrying'))))) \
                     OR NOT EXISTS (SELECT 1 FROM alert_rule WHERE alert_rule.id = alert.rule_id))",
                    before(now, MAX_CLOCK_CHANGE_DAYS),
                    before(now, 1)
                )
            }
            Self::Notifications => format!("notification.settled_at < {}", rule.last().0),
            // A schedule that it holds needs it, even a deleted one: it may be restored.
            Self::Windows => format!(
                "NOT maintenance_window.is_open \
                 AND coalesce(maintenance_window.cancelled_at, maintenance_window.ends_at) < {} \
                 AND NOT EXISTS (SELECT 1 FROM schedule \
                   WHERE schedule.paused_window_id = maintenance_window.id \
                   AND NOT schedule.enabled)",
                rule.last().0
            ),
            // The latest life under a name stays, because the next one continues its numbering.
            Self::Nodes => format!(
                "node.state <> 'alive' AND node.ended_at < {} - {} AND node.incarnation < \
                   (SELECT max(n.incarnation) FROM node n WHERE n.name = node.name)",
                store.dialect().now(),
                now - rule.last().0
            ),
        }
    }
}

impl Store {
    /// Number of rows of a kind that can be deleted, up to `limit`. It is read before the writer is
    /// taken, so that the deletion reads no further than the last of these rows.
    pub async fn leftovers(
        &self,
        what: Leftover,
        rule: &RetentionRule,
        answers: Duration,
        limit: u64,
    ) -> Result<u64, StoreError> {
        let (table, condition) = (what.table(), what.condition(self, rule, answers));
        let sql = format!(
            "SELECT count(*) AS found FROM (SELECT 1 FROM {table} WHERE {condition} LIMIT $1) AS old"
        );
        let statement = self.dialect().statement(sql, [limit.cast_signed().into()]);
        let row = RowCount::find_by_statement(statement).one(self.read()).await?;
        Ok(row.map_or(0, |row| row.found.cast_unsigned()))
    }

    /// Deletes up to `limit` rows of a kind. Returns their number.
    pub async fn delete_leftovers(
        &self,
        tx: &DatabaseTransaction,
        what: Leftover,
        rule: &RetentionRule,
        answers: Duration,
        limit: u64,
    ) -> Result<u64, StoreError> {
        let (table, key) = (what.table(), what.key());
        let condition = what.condition(self, rule, answers);
        let sql = format!(
            "DELETE FROM {table} WHERE ({key}) IN ( \
               SELECT {key} FROM {table} WHERE {condition} LIMIT $1)"
        );
        let statement = self.dialect().statement(sql, [limit.cast_signed().into()]);
        Ok(tx.execute_raw(statement).await?.rows_affected())
    }

    /// The schedules or workflows that were deleted and are no longer needed.
    pub async fn old_definitions(
        &self,
        what: Leftover,
        rule: &RetentionRule,
        limit: u64,
    ) -> Result<Vec<Uuid>, StoreError> {
        let (table, condition) = (what.table(), what.condition(self, rule, Duration::ZERO));
        let sql = format!("SELECT id FROM {table} WHERE {condition} LIMIT $1");
        let statement = self.dialect().statement(sql, [limit.cast_signed().into()]);
        let rows = KeyRow::find_by_statement(statement).all(self.read()).await?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }

    /// Deletes schedules or workflows that were deleted long ago, together with their definitions,
    /// which may contain secrets. Returns their number.
    pub async fn delete_definitions(
        &self,
        tx: &DatabaseTransaction,
        what: Leftover,
        ids: &[Uuid],
    ) -> Result<u64, StoreError> {
        if ids.is_empty() {
            return Ok(0);
        }
        let ids = || BulkValues::default().uuid("id", ids.iter().copied());
        if what == Leftover::Workflows {
            let sql = "DELETE FROM workflow_version WHERE workflow_id IN (SELECT id FROM v)";
            tx.execute_raw(ids().statement(self.dialect(), sql, vec![])).await?;
        }
        let table = what.table();
        let sql = format!(
            "DELETE FROM {table} WHERE {table}.id IN (SELECT id FROM v) \
               AND {table}.deleted_at IS NOT NULL"
        );
        let statement = ids().statement(self.dialect(), &sql, vec![]);
        Ok(tx.execute_raw(statement).await?.rows_affected())
    }
}
