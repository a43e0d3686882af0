//! Finds and ends runs that have waited for a node for too long.
//! A node that takes such a run would notice that, but perhaps no node can take it:
//! none has its tags or a free place, or its group is full.

use entity::Timestamp;
use sea_orm::{ConnectionTrait, FromQueryResult, Statement};
use uuid::Uuid;

use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{
        bulk::{BulkValues, MAX_ROWS},
        days::DayRange,
    },
};

/// A queued run whose fire is past its start deadline.
#[derive(Clone, Debug, FromQueryResult)]
pub struct LateRun {
    /// The key of the run, and of its fire.
    pub id: Uuid,
    /// The schedule.
    pub schedule_id: Option<Uuid>,
    /// The instant of the fire.
    pub scheduled_at: Timestamp,
}

/// A run that has begun, waits for another attempt, and has used up its time limit.
#[derive(Clone, Debug, FromQueryResult)]
pub struct OverdueRun {
    /// The key of the run.
    pub id: Uuid,
    /// The schedule, if the run has one.
    pub schedule_id: Option<Uuid>,
    /// When the run's first attempt started.
    pub started_at: Timestamp,
    /// The run's time limit in milliseconds.
    pub limit_ms: i64,
}

/// The time limit of runs of one workflow version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTimeLimit {
    /// The key of the workflow.
    pub workflow_id: Uuid,
    /// The version of the workflow.
    pub version: i32,
    /// The time limit in milliseconds, counted from the start of the first attempt.
    pub limit_ms: i64,
}

/// The condition for a run without any attempt whose fire is past its start deadline at `$1`, as
/// the engine computes it. A partial index has its first part. The schedule is looked up for each
/// such run, because with a join PostgreSQL might start from all schedules.
const IS_LATE: &str = "run.state IN ('queued', 'retrying') AND run.state = 'queued' \
    AND run.trigger = 'schedule' AND run.attempt = 0 \
    AND (SELECT s.start_deadline_ms + CASE WHEN run.due_at < run.scheduled_at + s.jitter_ms \
        THEN run.due_at ELSE run.scheduled_at + s.jitter_ms END \
      FROM schedule s WHERE s.id = run.schedule_id) < $1";

/// The condition for a run that waits for another attempt.
const WAITS_AGAIN: &str = "run.state IN ('queued', 'retrying') AND run.state = 'retrying'";

impl Store {
    /// Whether any queued run is past its start deadline. The check takes no locks.
    pub async fn is_any_late(&self, now: Timestamp) -> Result<bool, StoreError> {
        let days = self.dialect().live_runs("run.id", now);
        let sql = format!("SELECT EXISTS (SELECT 1 FROM run WHERE {IS_LATE}{days}) AS found");
        let statement = self.dialect().statement(sql, [now.0.into()]);
        let row = self.rounds().query_one_raw(statement).await?;
        Ok(row.map(|row| row.try_get("", "found")).transpose()?.unwrap_or_default())
    }

    /// The queued runs that are past their start deadline, locked until the transaction ends.
    pub async fn lock_late_runs(
        &self,
        tx: &DatabaseTransaction,
        now: Timestamp,
        limit: u64,
    ) -> Result<Vec<LateRun>, StoreError> {
        let sql = format!(
            "SELECT run.id, run.schedule_id, run.scheduled_at FROM run \
             WHERE {IS_LATE}{} ORDER BY run.id LIMIT $2 {}",
            self.dialect().live_runs("run.id", now),
            self.dialect().skip_locked("run")
        );
        let values = [now.0.into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        Ok(LateRun::find_by_statement(statement).all(tx).await?)
    }

    /// The workflow versions that have runs which wait for another attempt.
    pub async fn versions_that_wait_again(
        &self,
        now: Timestamp,
    ) -> Result<Vec<(Uuid, i32)>, StoreError> {
        #[derive(FromQueryResult)]
        struct WaitingVersion {
            workflow_id: Uuid,
            workflow_version: i32,
        }
        let sql = format!(
            "SELECT DISTINCT run.workflow_id, run.workflow_version FROM run WHERE {WAITS_AGAIN}{}",
            self.dialect().live_runs("run.id", now)
        );
        let rows = WaitingVersion::find_by_statement(self.dialect().statement(sql, []));
        let rows = rows.all(self.rounds()).await?;
        Ok(rows.into_iter().map(|row| (row.workflow_id, row.workflow_version)).collect())
    }

    /// Whether any run that waits for another attempt has used up its time limit.
    /// The check takes no locks.
    pub async fn is_any_overdue(
        &self,
        allowed: &[RunTimeLimit],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        for some in allowed.chunks(MAX_ROWS) {
            if self.rounds().query_one_raw(self.overdue(some, now, 1, "")).await?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Locks the runs that have used up their time limit:
    /// up to `limit` for each `MAX_ROWS` versions.
    pub async fn lock_overdue_runs(
        &self,
        tx: &DatabaseTransaction,
        allowed: &[RunTimeLimit],
        now: Timestamp,
        limit: u64,
    ) -> Result<Vec<OverdueRun>, StoreError> {
        let lock = self.dialect().skip_locked("run");
        let mut overdue = Vec::new();
        for some in allowed.chunks(MAX_ROWS) {
            let statement = self.overdue(some, now, limit, &lock);
            overdue.extend(OverdueRun::find_by_statement(statement).all(tx).await?);
        }
        Ok(overdue)
    }

    fn overdue(
        &self,
        allowed: &[RunTimeLimit],
        now: Timestamp,
        limit: u64,
        lock: &str,
    ) -> Statement {
        let sql = format!(
            "SELECT run.id, run.schedule_id, run.started_at, v.limit_ms FROM v JOIN run \
               ON run.workflow_id = v.workflow_id AND run.workflow_version = v.version \
             WHERE {WAITS_AGAIN} AND run.started_at + v.limit_ms <= {{0}}{} \
             ORDER BY run.id LIMIT {{1}} {lock}",
            self.dialect().live_runs("run.id", now),
        );
        BulkValues::default()
            .uuid("workflow_id", allowed.iter().map(|allowed| allowed.workflow_id))
            .int("version", allowed.iter().map(|allowed| i64::from(allowed.version)))
            .int("limit_ms", allowed.iter().map(|allowed| allowed.limit_ms))
            .statement(self.dialect(), &sql, vec![now.0.into(), limit.cast_signed().into()])
    }

    /// Ends runs that this transaction has locked and that have used up
    /// their time limit, each with its own error text.
    pub async fn time_out_locked_runs(
        &self,
        tx: &DatabaseTransaction,
        runs: &[(Uuid, String)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = format!(
            "UPDATE run SET state = 'timed_out', error = v.error, finished_at = {{0}}, \
               changed = {} FROM v WHERE run.id = v.id {{days}}",
            self.dialect().stamp("run")
        );
        for some in runs.chunks(MAX_ROWS) {
            let statement = BulkValues::default()
                .uuid("id", some.iter().map(|(id, _)| *id))
                .text("error", some.iter().map(|(_, error)| error.clone()))
                .days(DayRange::of_keys("run.id", some.iter().map(|(id, _)| *id)))
                .statement(self.dialect(), &sql, vec![now.0.into()]);
            tx.execute_raw(statement).await?;
        }
        Ok(())
    }
}
