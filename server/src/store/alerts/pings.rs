//! Calls to the external watchdogs of schedules: one row per schedule, with its latest event.

use entity::{
    Timestamp,
    ping::{Column, Entity, Event, Model},
    run, schedule,
};
use sea_orm::{
    ActiveEnum, ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter,
    QuerySelect, prelude::Json, sea_query::Expr,
};
use uuid::Uuid;

use super::feeds::{self, Feed};
use crate::store::{Cursor, DatabaseTransaction, Store, StoreError, db::bulk::BulkValues};

/// A run of a schedule with a ping, from the feed of runs.
/// The last row of a batch is always included, because it shows how far the feed was read.
#[derive(Clone, Debug, FromQueryResult)]
pub struct ChangedRun {
    /// The key of the run.
    pub id: Uuid,
    /// The run's schedule.
    pub schedule_id: Option<Uuid>,
    /// The run's state.
    pub state: run::State,
    /// How the run was started.
    pub trigger: run::Trigger,
    /// When the run started.
    pub started_at: Option<Timestamp>,
    /// When the run settled.
    pub finished_at: Option<Timestamp>,
    /// The run's position in the feed.
    pub changed: i64,
    /// The schedule's ping; `None` if the schedule has none.
    pub ping: Option<Json>,
    /// Number of runs in the batch.
    pub seen: i64,
}

/// An event to report to a schedule's watchdog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedEvent {
    /// The key of the schedule.
    pub schedule_id: Uuid,
    /// The kind of event.
    pub event: Event,
    /// The run that the event is about.
    pub run_id: Uuid,
    /// When the event happened.
    pub happened_at: Timestamp,
}

/// A call to a watchdog that is due.
#[derive(Clone, Debug, FromQueryResult)]
pub struct DuePing {
    /// The key of the schedule.
    pub schedule_id: Uuid,
    /// The schedule's name.
    pub schedule: String,
    /// The name of the schedule's namespace.
    pub namespace: String,
    /// The event to report.
    pub event: Event,
    /// The run that the event is about.
    pub run_id: Uuid,
    /// When the event happened.
    pub happened_at: Timestamp,
    /// Number of attempts to make this call.
    pub attempts: i32,
    /// Number of failed attempts since a call last arrived.
    pub failures: i32,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// The schedule's current ping; `None` if it has none.
    pub ping: Option<Json>,
}

/// The two groups of calls. Within each group, namespaces take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PingTurn {
    /// Calls to receivers that the last call reached, or that were not called yet.
    Reached,
    /// Calls to receivers that the last call did not reach.
    Away,
}

/// The outcome of an attempt to call a watchdog.
#[derive(Clone, Debug)]
pub struct PingOutcome {
    /// The key of the schedule.
    pub schedule_id: Uuid,
    /// The event that was reported.
    pub event: Event,
    /// The run that the event is about.
    pub run_id: Uuid,
    /// Number of attempts so far.
    pub attempts: i32,
    /// Number of failed attempts since a call last arrived.
    pub failures: i32,
    /// When the next attempt may be made; `None` if there is none.
    pub next_attempt_at: Option<Timestamp>,
    /// Why the attempt failed.
    pub error: Option<String>,
    /// When the call arrived.
    pub sent_at: Option<Timestamp>,
}

/// Whether any schedule has a ping.
pub async fn is_any(store: &Store) -> Result<bool, StoreError> {
    let query = schedule::Entity::find()
        .select_only()
        .column(schedule::Column::Id)
        .filter(Expr::cust("ping IS NOT NULL"))
        .filter(schedule::Column::DeletedAt.is_null())
        .limit(1);
    Ok(query.into_tuple::<Uuid>().one(store.read()).await?.is_some())
}

/// The position in the feed of runs; `None` if the feed is not being read.
pub async fn cursor(store: &Store) -> Result<Option<Cursor>, StoreError> {
    feeds::cursor(store, Feed::Pings).await
}

/// Starts reading the feed at the first run that began after its schedule got a ping.
/// The feed is only read periodically, so that run may have ended before the first read.
pub async fn begin(store: &Store, tx: &DatabaseTransaction) -> Result<(), StoreError> {
    let mut end = crate::store::reads::feed::end_of_runs(store).await?;
    let sql = "SELECT run.changed, run.id FROM schedule \
         JOIN run ON run.schedule_id = schedule.id AND run.started_at >= schedule.updated_at \
         WHERE schedule.ping IS NOT NULL AND schedule.deleted_at IS NULL \
         ORDER BY run.changed, run.id LIMIT 1";
    let first = Cursor::find_by_statement(store.dialect().statement(sql.to_owned(), []));
    if let Some(Cursor { changed, id }) = first.one(tx).await?
        && changed <= end.changed
    {
        // The cursor is directly before that run, because other runs may have the same stamp.
        end = Cursor { changed, id: Uuid::from_u128(id.as_u128().saturating_sub(1)) };
    }
    feeds::begin(tx, &[(Feed::Pings, end)]).await
}

/// Stops reading the feed. A later start begins at the end of the feed.
pub async fn stop(tx: &DatabaseTransaction) -> Result<(), StoreError> {
    feeds::stop(tx, Feed::Pings).await
}

/// The next batch of the feed of runs, at most `limit` of all schedules: the runs of schedules with
/// a ping, and the last run of the batch.
pub async fn changed(
    store: &Store,
    after: Cursor,
    limit: u64,
) -> Result<Vec<ChangedRun>, StoreError> {
    let horizon = store.dialect().horizon();
    let sql = format!(
        "WITH w AS (SELECT run.id, run.schedule_id, run.state, run.trigger, run.started_at, \
             run.finished_at, run.changed FROM run \
           WHERE (run.changed, run.id) > ($1, $2) AND run.changed < {horizon} \
           ORDER BY run.changed, run.id LIMIT $3) \
         SELECT w.*, schedule.ping, (SELECT count(*) FROM w) AS seen \
         FROM w LEFT JOIN schedule ON schedule.id = w.schedule_id \
           AND schedule.ping IS NOT NULL AND schedule.deleted_at IS NULL \
         WHERE schedule.id IS NOT NULL \
           OR w.id = (SELECT w.id FROM w ORDER BY w.changed DESC, w.id DESC LIMIT 1) \
         ORDER BY w.changed, w.id"
    );
    let values = [after.changed.into(), after.id.into(), limit.cast_signed().into()];
    let rows = ChangedRun::find_by_statement(store.dialect().statement(sql, values));
    Ok(rows.all(store.read()).await?)
}

/// Records events to report and the new cursor, if the cursor is still at `from`. A newer event
/// replaces the schedule's pending one. An event of a run is not reported twice. A new event does
/// not make an unreachable receiver be called earlier: the next attempt stays postponed.
pub async fn note_if_at(
    store: &Store,
    tx: &DatabaseTransaction,
    from: Cursor,
    to: Cursor,
    news: &[ReportedEvent],
    now: Timestamp,
) -> Result<bool, StoreError> {
    if !feeds::move_if_at(tx, Feed::Pings, from, to).await? {
        return Ok(false);
    }
    for news in news.chunks(500) {
        let statement = BulkValues::default()
            .uuid("schedule_id", news.iter().map(|one| one.schedule_id))
            .text("event", news.iter().map(|one| one.event.to_value()))
            .uuid("run_id", news.iter().map(|one| one.run_id))
            .int("happened_at", news.iter().map(|one| one.happened_at.0))
            .statement(
                store.dialect(),
                "INSERT INTO ping (schedule_id, event, run_id, happened_at, attempts, failures, \
                   next_attempt_at) \
                 SELECT v.schedule_id, v.event, v.run_id, v.happened_at, 0, 0, {0} FROM v \
                 WHERE true \
                 ON CONFLICT (schedule_id) DO UPDATE SET event = excluded.event, \
                   run_id = excluded.run_id, happened_at = excluded.happened_at, attempts = 0, \
                   next_attempt_at = CASE \
                     WHEN ping.failures > 0 AND ping.next_attempt_at > excluded.next_attempt_at \
                     THEN ping.next_attempt_at ELSE excluded.next_attempt_at END \
                 WHERE ping.run_id <> excluded.run_id OR ping.event <> excluded.event",
                vec![now.0.into()],
            );
        tx.execute_raw(statement).await?;
    }
    Ok(true)
}

/// Calls that are due at `now`, at most `limit`.
/// The longest overdue call of each namespace comes first, then the second of each, and so on.
/// So thousands of calls of one namespace do not delay those of another.
pub async fn due(
    store: &Store,
    turn: PingTurn,
    now: Timestamp,
    limit: u64,
) -> Result<Vec<DuePing>, StoreError> {
    let whose = match turn {
        PingTurn::Reached => "p.failures = 0",
        PingTurn::Away => "p.failures > 0",
    };
    let sql = format!(
        "SELECT p.schedule_id, s.name AS schedule, n.name AS namespace, p.event, p.run_id, \
           p.happened_at, p.attempts, p.failures, p.error, \
           CASE WHEN s.deleted_at IS NULL THEN s.ping ELSE NULL END AS ping \
         FROM (SELECT p.schedule_id, p.next_attempt_at, row_number() OVER ( \
               PARTITION BY s.namespace_id ORDER BY p.next_attempt_at, p.schedule_id) AS place \
             FROM ping p JOIN schedule s ON s.id = p.schedule_id \
             WHERE p.next_attempt_at IS NOT NULL AND p.next_attempt_at <= $1 AND {whose} \
             ORDER BY place, p.next_attempt_at, p.schedule_id LIMIT $2) d \
           JOIN ping p ON p.schedule_id = d.schedule_id JOIN schedule s ON s.id = d.schedule_id \
           JOIN namespace n ON n.id = s.namespace_id \
         ORDER BY d.place, d.next_attempt_at, d.schedule_id"
    );
    let values = [now.0.into(), limit.cast_signed().into()];
    let rows = DuePing::find_by_statement(store.dialect().statement(sql, values));
    Ok(rows.all(store.read()).await?)
}

/// Writes the outcome of an attempt, unless a newer event is pending.
pub async fn settle_if_newest(store: &Store, ended: &PingOutcome) -> Result<bool, StoreError> {
    let tx = store.begin().await?;
    let mut update = Entity::update_many()
        .col_expr(Column::Attempts, Expr::value(ended.attempts))
        .col_expr(Column::Failures, Expr::value(ended.failures))
        .col_expr(Column::NextAttemptAt, Expr::value(ended.next_attempt_at.map(|at| at.0)))
        .col_expr(Column::Error, Expr::value(ended.error.clone()));
    if let Some(at) = ended.sent_at {
        update = update.col_expr(Column::SentAt, Expr::value(Some(at.0)));
    }
    let written = update
        .filter(Column::ScheduleId.eq(ended.schedule_id))
        .filter(Column::RunId.eq(ended.run_id))
        .filter(Column::Event.eq(ended.event))
        .exec(&tx)
        .await?;
    store.commit_unseen(tx).await?;
    Ok(written.rows_affected == 1)
}

/// The latest calls of these schedules, in no particular order.
pub async fn by_schedules<C: ConnectionTrait>(
    connection: &C,
    ids: &[Uuid],
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find().filter(Column::ScheduleId.is_in(ids.iter().copied()));
    Ok(query.all(connection).await?)
}
