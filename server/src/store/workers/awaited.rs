use entity::{
    Timestamp,
    job::{ActiveModel, Column, Entity, Model, State},
    job_line,
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter, Set, sea_query::Expr,
};
use uuid::Uuid;

use crate::store::{Store, StoreError, db::bulk::Bulk};

/// The progress of a job.
#[derive(Clone, Debug, FromQueryResult)]
pub struct JobProgress {
    /// The job.
    pub id: Uuid,
    /// See [`State`].
    pub state: State,
    /// How many lines it has printed.
    pub lines: i64,
    /// The worker that has it, or had it.
    pub worker: Option<String>,
}

impl Store {
    /// Creates a job, for any worker of its queue. Open jobs of earlier attempts at the same task
    /// are cancelled: the node that waited for them is gone.
    pub async fn add_job(&self, row: ActiveModel, now: Timestamp) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        let ended = ActiveModel {
            state: Set(State::Cancelled),
            stop: Set(true),
            ended_at: Set(Some(now)),
            ..ActiveModel::default()
        };
        let earlier = Entity::update_many()
            .set(ended)
            .filter(Column::RunId.eq(row.run_id.clone().unwrap()))
            .filter(Column::RunTask.eq(row.run_task.clone().unwrap()))
            .filter(Column::EndedAt.is_null());
        earlier.exec(&tx).await?;
        Entity::insert(row).exec_without_returning(&tx).await?;
        self.commit(tx).await
    }

    /// Extends the wait for these jobs and, if `may_lose`, marks those as lost whose workers did
    /// not report in time.
    pub async fn await_jobs(
        &self,
        ids: &[Uuid],
        now: Timestamp,
        until: Timestamp,
        may_lose: bool,
    ) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        self.lock_jobs(&tx, ids.iter().copied()).await?;
        let rows = || Bulk::default().uuid("id", ids.iter().copied());
        let awaited = rows().statement(
            self.dialect(),
            "UPDATE job SET awaited_until = {0} FROM v WHERE job.id = v.id \
               AND job.ended_at IS NULL",
            vec![until.0.into()],
        );
        tx.execute_raw(awaited).await?;
        if !may_lose {
            return self.commit_unseen(tx).await;
        }
        let lost = rows().statement(
            self.dialect(),
            "UPDATE job SET state = 'lost', ended_at = {0} FROM v WHERE job.id = v.id \
               AND job.state = 'held' AND job.lease_until <= {0}",
            vec![now.0.into()],
        );
        if tx.execute_raw(lost).await?.rows_affected() > 0 {
            return self.commit(tx).await;
        }
        self.commit_unseen(tx).await
    }

    /// The progress of these jobs.
    pub async fn progress_of_jobs(&self, ids: &[Uuid]) -> Result<Vec<JobProgress>, StoreError> {
        let statement = Bulk::default().uuid("id", ids.iter().copied()).statement(
            self.dialect(),
            "SELECT job.id AS id, job.state AS state, job.lines AS lines, worker.name AS worker \
             FROM v JOIN job ON job.id = v.id LEFT JOIN worker ON worker.id = job.worker_id",
            vec![],
        );
        Ok(JobProgress::find_by_statement(statement).all(self.rounds()).await?)
    }

    /// Asks the worker of a job to stop it; a job without a worker ends at once. Returns whether it
    /// had not ended before.
    pub async fn stop_job(&self, id: Uuid, now: Timestamp) -> Result<bool, StoreError> {
        let tx = self.begin().await?;
        let stop = Entity::update_many()
            .col_expr(Column::Stop, Expr::value(true))
            .filter(Column::Id.eq(id))
            .filter(Column::EndedAt.is_null());
        let was_open = stop.exec(&tx).await?.rows_affected == 1;
        let row = ActiveModel {
            state: Set(State::Cancelled),
            ended_at: Set(Some(now)),
            ..ActiveModel::default()
        };
        let cancelled = Entity::update_many()
            .set(row)
            .filter(Column::Id.eq(id))
            .filter(Column::State.eq(State::Waiting));
        cancelled.exec(&tx).await?;
        self.commit(tx).await?;
        Ok(was_open)
    }

    /// Ends the wait for a job, whatever its worker reports.
    pub async fn abandon_job(&self, id: Uuid, now: Timestamp) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        let row = ActiveModel {
            state: Set(State::Cancelled),
            stop: Set(true),
            ended_at: Set(Some(now)),
            ..ActiveModel::default()
        };
        let abandoned = Entity::update_many()
            .set(row)
            .filter(Column::Id.eq(id))
            .filter(Column::EndedAt.is_null());
        abandoned.exec(&tx).await?;
        self.commit(tx).await
    }

    /// Removes jobs that have not been waited for since `since`, at most `limit`, and workers that
    /// were not heard from since then; returns the number of jobs. Their workers only learn that
    /// the jobs are gone.
    pub async fn forget_jobs(&self, since: Timestamp, limit: u64) -> Result<u64, StoreError> {
        #[derive(FromQueryResult)]
        struct Old {
            id: Uuid,
        }
        let tx = self.begin().await?;
        let old = format!(
            "SELECT job.id FROM job WHERE job.awaited_until < $1 \
             ORDER BY job.awaited_until, job.id LIMIT $2 {}",
            self.dialect().skip_locked("job")
        );
        let values = [since.0.into(), limit.cast_signed().into()];
        let old = Old::find_by_statement(self.dialect().statement(old, values));
        let ids: Vec<Uuid> = old.all(&tx).await?.into_iter().map(|row| row.id).collect();
        let of_jobs = job_line::Column::JobId.is_in(ids.iter().copied());
        job_line::Entity::delete_many().filter(of_jobs).exec(&tx).await?;
        let these = Column::Id.is_in(ids.iter().copied());
        Entity::delete_many().filter(these).exec(&tx).await?;
        super::programs::forget_silent(&tx, since).await?;
        self.commit_unseen(tx).await?;
        Ok(ids.len().try_into().unwrap_or(u64::MAX))
    }
}

/// The values that a job takes from its attempt's run.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct JobOrigin {
    /// The namespace.
    pub namespace_id: Uuid,
    /// The run's priority; 0 for a call that belongs to no run.
    pub priority: i16,
}

/// The namespace with this name, and the priority of this run.
pub async fn origin(
    store: &Store,
    namespace: &str,
    run: Uuid,
) -> Result<Option<JobOrigin>, StoreError> {
    let sql = "SELECT namespace.id AS namespace_id, \
           CAST(coalesce(run.priority, 0) AS smallint) AS priority \
         FROM namespace LEFT JOIN run ON run.id = $2 WHERE namespace.name = $1";
    let statement = store.dialect().statement(sql, [namespace.into(), run.into()]);
    Ok(JobOrigin::find_by_statement(statement).one(store.read()).await?)
}

/// The job with this key.
pub async fn by_id<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(connection).await?)
}

/// The lines that a job has printed after number `after`, in order, at most a hundred.
pub async fn lines_after<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
    after: i64,
) -> Result<Vec<job_line::Model>, StoreError> {
    use sea_orm::{QueryOrder, QuerySelect};
    let query = job_line::Entity::find()
        .filter(job_line::Column::JobId.eq(id))
        .filter(job_line::Column::Seq.gt(after))
        .order_by_asc(job_line::Column::Seq);
    Ok(query.limit(100).all(connection).await?)
}
