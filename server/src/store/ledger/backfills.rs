//! Backfills: creates them, changes their state, and provides the operations of their service.
//!
//! Every write of a backfill's rows is in a transaction that locks the backfill's row.
//! A transaction that also locks the schedule locks it first.

use std::collections::HashSet;

use entity::{
    Timestamp,
    backfill::{ActiveModel, Column, Entity, Model, State},
    backfill_fire, fire, run,
};
use sea_orm::{
    ActiveEnum, ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter,
    QuerySelect, sea_query::Expr,
};
use uuid::Uuid;

use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{bulk::BulkValues, rows::InstantRow},
};

/// A backfill that still has work to do.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct OpenBackfill {
    /// The key of the backfill.
    pub id: Uuid,
    /// The backfill's schedule.
    pub schedule_id: Uuid,
}

/// The next instant of a backfill to run.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct NextFire {
    /// The instant's position in the backfill.
    pub position: i32,
    /// The instant.
    pub scheduled_at: Timestamp,
    /// The effect of a clock change at the instant.
    pub kind: fire::Kind,
}

/// An instant whose run was live when it was last read, and that run.
#[derive(Clone, Debug, FromQueryResult)]
pub struct FireAtWork {
    /// The instant's position in the backfill.
    pub position: i32,
    /// The run.
    pub run_id: Uuid,
    /// The run's current state; `None` if it is no longer in the tables.
    pub state: Option<run::State>,
    /// When the run settled.
    pub finished_at: Option<Timestamp>,
    /// When the cancellation of the run was requested.
    pub cancel_requested_at: Option<Timestamp>,
}

/// An instant that has ended.
#[derive(Clone, Debug)]
pub struct EndedFire {
    /// The instant's position in the backfill.
    pub position: i32,
    /// The final state of the instant.
    pub state: backfill_fire::State,
    /// The reason for that state.
    pub detail: Option<String>,
    /// When the instant ended.
    pub at: Timestamp,
}

/// Maximum number of rows that one statement writes.
const CHUNK: usize = 1_000;

impl Store {
    /// Writes a backfill and its fires, in the order in which they are to run.
    pub async fn insert_backfill(
        &self,
        tx: &DatabaseTransaction,
        row: ActiveModel,
        id: Uuid,
        schedule: Uuid,
        fires: &[(Timestamp, fire::Kind)],
    ) -> Result<(), StoreError> {
        Entity::insert(row).exec_without_returning(tx).await?;
        self.stamp_backfill(tx, id).await?;
        let placed: Vec<_> = (0_i64..).zip(fires).collect();
        for some in placed.chunks(CHUNK) {
            let statement = BulkValues::default()
                .int("position", some.iter().map(|(position, _)| *position))
                .int("scheduled_at", some.iter().map(|(_, (at, _))| at.0))
                .text("kind", some.iter().map(|(_, (_, kind))| kind.to_value()))
                .statement(
                    self.dialect(),
                    "INSERT INTO backfill_fire (backfill_id, position, schedule_id, \
                       scheduled_at, kind, state) \
                     SELECT {0}, position, {1}, scheduled_at, kind, 'pending' FROM v WHERE true",
                    vec![id.into(), schedule.into()],
                );
            tx.execute_raw(statement).await?;
        }
        Ok(())
    }

    /// The backfill with this key, locked until the transaction ends.
    pub async fn lock_backfill(
        &self,
        tx: &DatabaseTransaction,
        id: Uuid,
    ) -> Result<Option<Model>, StoreError> {
        Ok(Entity::find_by_id(id).lock_exclusive().one(tx).await?)
    }

    /// Writes the set columns of a backfill that this transaction has locked.
    pub async fn update_locked_backfill(
        &self,
        tx: &DatabaseTransaction,
        id: Uuid,
        columns: ActiveModel,
    ) -> Result<(), StoreError> {
        Entity::update_many()
            .set(columns)
            .col_expr(Column::Changed, Expr::cust(self.dialect().stamp("backfill")))
            .filter(Column::Id.eq(id))
            .exec(tx)
            .await?;
        Ok(())
    }

    /// Marks a locked backfill as changed, because some of its fires were.
    pub(super) async fn stamp_backfill(
        &self,
        tx: &DatabaseTransaction,
        id: Uuid,
    ) -> Result<(), StoreError> {
        self.update_locked_backfill(tx, id, ActiveModel::default()).await
    }

    /// Settles the waiting fires of a locked backfill as cancelled. Returns their number.
    pub async fn cancel_pending_fires(
        &self,
        tx: &DatabaseTransaction,
        backfill: Uuid,
        detail: &str,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let statement = self.dialect().statement(
            "UPDATE backfill_fire SET state = 'cancelled', detail = $2, finished_at = $3 \
             WHERE backfill_id = $1 AND state = 'pending'",
            [backfill.into(), detail.into(), now.0.into()],
        );
        let cancelled = tx.execute_raw(statement).await?.rows_affected();
        if cancelled > 0 {
            self.stamp_backfill(tx, backfill).await?;
        }
        Ok(cancelled)
    }

    /// The backfills of a schedule that may still start runs, locked until the transaction ends.
    pub async fn lock_backfills_of(
        &self,
        tx: &DatabaseTransaction,
        schedule: Uuid,
    ) -> Result<Vec<Model>, StoreError> {
        let query = Entity::find()
            .filter(Column::ScheduleId.eq(schedule))
            .filter(Column::State.is_in([State::Running, State::Paused]))
            .lock_exclusive();
        Ok(query.all(tx).await?)
    }

    /// Backfills with something to do now, in order of creation: those with room for a run,
    /// those with a run that has ended or must be stopped, and those with nothing left to do.
    /// Backfills that only wait for a run are left out.
    pub async fn open_backfills(
        &self,
        after: Uuid,
        limit: u64,
    ) -> Result<Vec<OpenBackfill>, StoreError> {
        let statement = self.dialect().statement(
            "SELECT b.id AS id, b.schedule_id AS schedule_id FROM backfill b \
             WHERE b.finished_at IS NULL AND b.id > $1 AND ( \
               EXISTS (SELECT 1 FROM backfill_fire f LEFT JOIN run ON run.id = f.run_id \
                 WHERE f.backfill_id = b.id AND f.state = 'running' \
                   AND (run.id IS NULL OR run.state NOT IN ('queued', 'running', 'retrying') \
                     OR (b.state = 'cancelled' AND run.cancel_requested_at IS NULL))) \
               OR (b.state = 'running' \
                 AND EXISTS (SELECT 1 FROM backfill_fire f \
                   WHERE f.backfill_id = b.id AND f.state = 'pending') \
                 AND (SELECT count(*) FROM backfill_fire f \
                   WHERE f.backfill_id = b.id AND f.state = 'running') < b.concurrency) \
               OR NOT EXISTS (SELECT 1 FROM backfill_fire f \
                 WHERE f.backfill_id = b.id AND f.state IN ('pending', 'running')) \
               OR (b.state <> 'cancelled' AND NOT EXISTS (SELECT 1 FROM schedule s \
                 WHERE s.id = b.schedule_id AND s.deleted_at IS NULL))) \
             ORDER BY b.id LIMIT $2",
            [after.into(), limit.cast_signed().into()],
        );
        Ok(OpenBackfill::find_by_statement(statement).all(self.rounds()).await?)
    }

    /// The runs for which open backfills wait, as the backfills' rows say.
    pub async fn backfill_runs_at_work(&self) -> Result<HashSet<Uuid>, StoreError> {
        #[derive(FromQueryResult)]
        struct RunKey {
            run_id: Uuid,
        }
        let statement = self.dialect().statement(
            "SELECT f.run_id AS run_id FROM backfill_fire f \
             WHERE f.state = 'running' AND f.run_id IS NOT NULL",
            [],
        );
        let rows = RunKey::find_by_statement(statement).all(self.rounds()).await?;
        Ok(rows.into_iter().map(|row| row.run_id).collect())
    }

    /// The fires of a locked backfill that have a live run, each with that run.
    pub async fn fires_at_work(
        &self,
        tx: &DatabaseTransaction,
        backfill: Uuid,
    ) -> Result<Vec<FireAtWork>, StoreError> {
        let statement = self.dialect().statement(
            "SELECT f.position AS position, f.run_id AS run_id, run.state AS state, \
               run.finished_at AS finished_at, run.cancel_requested_at AS cancel_requested_at \
             FROM backfill_fire f LEFT JOIN run ON run.id = f.run_id \
             WHERE f.backfill_id = $1 AND f.state = 'running' ORDER BY f.position",
            [backfill.into()],
        );
        Ok(FireAtWork::find_by_statement(statement).all(tx).await?)
    }

    /// The next fires of a locked backfill, in order.
    pub async fn next_fires(
        &self,
        tx: &DatabaseTransaction,
        backfill: Uuid,
        limit: usize,
    ) -> Result<Vec<NextFire>, StoreError> {
        let statement = self.dialect().statement(
            "SELECT position, scheduled_at, kind FROM backfill_fire \
             WHERE backfill_id = $1 AND state = 'pending' ORDER BY position LIMIT $2",
            [backfill.into(), i64::try_from(limit).unwrap_or(i64::MAX).into()],
        );
        Ok(NextFire::find_by_statement(statement).all(tx).await?)
    }

    /// The instants among these that have a live run of any backfill.
    pub async fn instants_at_work(
        &self,
        tx: &DatabaseTransaction,
        schedule: Uuid,
        instants: &[Timestamp],
    ) -> Result<Vec<Timestamp>, StoreError> {
        if instants.is_empty() {
            return Ok(vec![]);
        }
        let statement = BulkValues::default().int("at", instants.iter().map(|at| at.0)).statement(
            self.dialect(),
            "SELECT v.at AS at FROM v JOIN backfill_fire f ON f.schedule_id = {0} \
               AND f.scheduled_at = v.at AND f.state = 'running'",
            vec![schedule.into()],
        );
        let rows = InstantRow::find_by_statement(statement).all(tx).await?;
        Ok(rows.into_iter().map(|row| row.at).collect())
    }

    /// Ends those of the given fires of a locked backfill that have not ended yet.
    pub async fn end_fires(
        &self,
        tx: &DatabaseTransaction,
        backfill: Uuid,
        ended: &[EndedFire],
    ) -> Result<(), StoreError> {
        if ended.is_empty() {
            return Ok(());
        }
        let statement = BulkValues::default()
            .int("position", ended.iter().map(|fire| i64::from(fire.position)))
            .text("state", ended.iter().map(|fire| fire.state.to_value()))
            .text("detail", ended.iter().map(|fire| fire.detail.clone()))
            .int("at", ended.iter().map(|fire| fire.at.0))
            .statement(
                self.dialect(),
                "UPDATE backfill_fire SET state = v.state, detail = v.detail, \
                   finished_at = v.at \
                 FROM v WHERE backfill_fire.backfill_id = {0} \
                   AND backfill_fire.position = v.position \
                   AND backfill_fire.state IN ('pending', 'running')",
                vec![backfill.into()],
            );
        tx.execute_raw(statement).await?;
        self.stamp_backfill(tx, backfill).await
    }
}
