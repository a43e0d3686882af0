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

/// How far a job has come.
#[derive(Clone, Debug, FromQueryResult)]
pub struct Progress {
    /// Which.
    pub id: Uuid,
    /// See [`State`].
    pub state: State,
    /// How many lines it has printed.
    pub lines: i64,
    /// Who has it, or had it.
    pub worker: Option<String>,
}

impl Store {
    /// Makes a job, for any worker of its queue.
    pub async fn add_job(&self, row: ActiveModel) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        Entity::insert(row).exec_without_returning(&tx).await?;
        self.commit(tx).await
    }

    /// Says that somebody waits for these jobs for so much longer, and that those whose workers were
    /// not heard in time are lost.
    pub async fn await_jobs(
        &self,
        ids: &[Uuid],
        now: Timestamp,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        let rows = || Bulk::default().uuid("id", ids.iter().copied());
        let awaited = rows().statement(
            self.dialect(),
            "UPDATE job SET awaited_until = {0} FROM v WHERE job.id = v.id \
               AND job.ended_at IS NULL",
            vec![until.0.into()],
        );
        tx.execute_raw(awaited).await?;
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

    /// How far these jobs have come.
    pub async fn progress_of_jobs(&self, ids: &[Uuid]) -> Result<Vec<Progress>, StoreError> {
        let statement = Bulk::default().uuid("id", ids.iter().copied()).statement(
            self.dialect(),
            "SELECT job.id AS id, job.state AS state, job.lines AS lines, worker.name AS worker \
             FROM v JOIN job ON job.id = v.id LEFT JOIN worker ON worker.id = job.worker_id",
            vec![],
        );
        Ok(Progress::find_by_statement(statement).all(self.rounds()).await?)
    }

    /// Has the worker of a job stop it, if one has it; one that nobody has yet ends at once.
    pub async fn stop_job(&self, id: Uuid, now: Timestamp) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        let stop = Entity::update_many()
            .col_expr(Column::Stop, Expr::value(true))
            .filter(Column::Id.eq(id))
            .filter(Column::EndedAt.is_null());
        stop.exec(&tx).await?;
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
        self.commit(tx).await
    }

    /// Nobody waits for a job any more, whatever its worker says.
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

    /// Removes jobs that nobody has waited for since, a thousand at the most; their workers are told
    /// no more than that they are gone.
    pub async fn forget_jobs(&self, since: Timestamp) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        let old = "SELECT id FROM job WHERE awaited_until < $1 ORDER BY awaited_until LIMIT 1000";
        for sql in [
            format!("DELETE FROM job_line WHERE job_id IN ({old})"),
            format!("DELETE FROM job WHERE id IN ({old})"),
        ] {
            tx.execute_raw(self.dialect().statement(sql, [since.0.into()])).await?;
        }
        super::programs::forget_silent(&tx, since).await?;
        self.commit_unseen(tx).await
    }
}

/// What a job takes from where its attempt belongs.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct Origin {
    /// The tenant.
    pub namespace_id: Uuid,
    /// That of the run; 0 for a call that belongs to none.
    pub priority: i16,
}

/// The namespace of that name, and the priority of that run.
pub async fn origin(
    store: &Store,
    namespace: &str,
    run: Uuid,
) -> Result<Option<Origin>, StoreError> {
    let sql = "SELECT namespace.id AS namespace_id, \
           CAST(coalesce(run.priority, 0) AS smallint) AS priority \
         FROM namespace LEFT JOIN run ON run.id = $2 WHERE namespace.name = $1";
    let statement = store.dialect().statement(sql, [namespace.into(), run.into()]);
    Ok(Origin::find_by_statement(statement).one(store.read()).await?)
}

/// The job.
pub async fn by_id<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(connection).await?)
}

/// What a job has printed behind that place, in order, a thousand lines at the most.
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
    Ok(query.limit(1_000).all(connection).await?)
}
