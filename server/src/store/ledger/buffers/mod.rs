//! The fires that wait until blocking runs settle, and other intents without an owner.
//!
//! The buffer is the ledger itself: a waiting fire is `pending`, has no owner,
//! and has a `queue_position`. Every write of a schedule's queue locks the schedule's row.
//! So a claim and a release never decide about the same schedule at the same time.
//!
//! - `places`: adds fires to a queue, removes them, and moves them in it

mod places;

use std::collections::HashMap;

use entity::{
    Timestamp,
    fire::{self, Column},
    schedule::Overlap,
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder,
    QuerySelect,
};
use uuid::Uuid;

pub use self::places::Queued;
use super::handoffs::{INTENT_COLUMNS, Intent};
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{
        bulk::{BulkValues, returned_ids},
        days::DayRange,
        live::RowsSince,
        rows::KeyRow,
    },
};

/// The state of a schedule's buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffered {
    /// Number of waiting fires that can still start:
    /// they are neither stale nor past their deadline.
    pub waiting: usize,
    /// The highest position that is taken.
    pub last: i64,
}

/// The current state of a schedule with waiting fires.
#[derive(Clone, Debug, FromQueryResult)]
pub struct BufferQueue {
    /// The key of the schedule.
    pub id: Uuid,
    /// The version of the schedule.
    pub version: i32,
    /// The last version that changed the fires; see `entity::schedule`.
    pub fires_version: i32,
    /// Whether the schedule may fire.
    pub enabled: bool,
    /// When the schedule was deleted.
    pub deleted_at: Option<Timestamp>,
    /// The start deadline; see `entity::schedule`.
    pub start_deadline_ms: Option<i64>,
    /// The maximum jitter; see `entity::schedule`.
    pub jitter_ms: i64,
    /// The overlap policy; see `entity::schedule`.
    pub overlap: Overlap,
    /// The maximum number of waiting fires; see `entity::schedule`.
    pub buffer_limit: Option<i32>,
}

/// Whether there are intents without an owner. In most rounds there are none, and PostgreSQL needs
/// more time to plan the queries about them than to find that out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct UnownedIntents {
    /// Whether a fire waits in a buffer.
    pub waits: bool,
    /// Whether another intent without an owner has become due.
    pub is_due: bool,
}

/// The facts about all buffers that tell a planner when to look again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferOutlook {
    /// Whether a fire waits in any buffer.
    pub waits: bool,
    /// When the first waiting fire passes its deadline.
    pub deadline: Option<Timestamp>,
}

/// The condition for a fire in a buffer, worded exactly as in the partial index.
const WAITS: &str = "fire.verdict = 'pending' AND fire.queue_position IS NOT NULL";

/// The condition for a fire that becomes due after its
/// claim, worded exactly as in the partial index.
const COMES_LATER: &str =
    "fire.verdict = 'pending' AND fire.claimed_by IS NULL AND fire.queue_position IS NULL";

/// The table `waiting(schedule_id)` of the schedules that have a buffer.
/// The query takes one step along the index for each schedule, however many fires wait.
fn schedules_with_buffers(days: &str) -> String {
    format!(
        "WITH RECURSIVE waiting(schedule_id) AS ( \
           SELECT (SELECT fire.schedule_id FROM fire WHERE {WAITS}{days} \
             ORDER BY fire.schedule_id LIMIT 1) \
           UNION ALL \
           SELECT (SELECT fire.schedule_id FROM fire WHERE {WAITS}{days} \
               AND fire.schedule_id > waiting.schedule_id ORDER BY fire.schedule_id LIMIT 1) \
             FROM waiting WHERE waiting.schedule_id IS NOT NULL)"
    )
}

/// The instant from which the deadline of a fire of schedule `s` counts, as the engine computes it.
const SINCE: &str = "CASE WHEN fire.due_at < fire.scheduled_at + s.jitter_ms \
    THEN fire.due_at ELSE fire.scheduled_at + s.jitter_ms END";

/// The expression `of` for the fire at the head of the queue of schedule `waiting.schedule_id`.
fn head(of: &str, days: &str) -> String {
    format!(
        "(SELECT {of} FROM fire WHERE {WAITS}{days} \
           AND fire.schedule_id = waiting.schedule_id ORDER BY fire.queue_position LIMIT 1)"
    )
}

/// When the first fire in the queue of schedule `s` passes its deadline, if a fire has one.
/// The queue may have been reordered, so this need not be its head.
/// Only queues with deadlines are read.
fn first_deadline(days: &str) -> String {
    format!(
        "CASE WHEN s.start_deadline_ms IS NOT NULL THEN s.start_deadline_ms + \
           (SELECT min({SINCE}) FROM fire WHERE {WAITS}{days} \
             AND fire.schedule_id = waiting.schedule_id) END"
    )
}

impl Store {
    /// The state of the buffers of `schedules` at `now`. Schedules without a buffer are left out.
    pub async fn buffers_of(
        &self,
        tx: &DatabaseTransaction,
        schedules: &[Uuid],
        now: Timestamp,
        since: RowsSince,
    ) -> Result<HashMap<Uuid, Buffered>, StoreError> {
        #[derive(FromQueryResult)]
        struct BufferRow {
            schedule_id: Uuid,
            waiting: i64,
            last: i64,
        }
        if schedules.is_empty() {
            return Ok(HashMap::new());
        }
        let sql = format!(
            "SELECT fire.schedule_id AS schedule_id, \
               count(CASE WHEN fire.schedule_version >= s.fires_version \
                 AND (s.start_deadline_ms IS NULL OR {SINCE} + s.start_deadline_ms >= {{0}}) \
                 THEN 1 END) AS waiting, \
               max(fire.queue_position) AS last \
             FROM (SELECT DISTINCT id FROM v) w JOIN fire ON fire.schedule_id = w.id \
               JOIN schedule s ON s.id = w.id \
             WHERE {WAITS}{} GROUP BY fire.schedule_id",
            self.dialect().pending_fires("fire.scheduled_at", now, since)
        );
        let statement = BulkValues::default().uuid("id", schedules.iter().copied()).statement(
            self.dialect(),
            &sql,
            vec![now.0.into()],
        );
        let rows = BufferRow::find_by_statement(statement).all(tx).await?;
        let buffered = |row: BufferRow| {
            let waiting = usize::try_from(row.waiting).unwrap_or(usize::MAX);
            (row.schedule_id, Buffered { waiting, last: row.last })
        };
        Ok(rows.into_iter().map(buffered).collect())
    }

    /// Whether there are intents without an owner. See [`UnownedIntents`].
    pub async fn unowned(&self, now: Timestamp) -> Result<UnownedIntents, StoreError> {
        let days = self.dialect().pending_fires("fire.scheduled_at", now, RowsSince::Margin);
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM fire WHERE {WAITS}{days}) AS waits, \
               EXISTS (SELECT 1 FROM fire WHERE {COMES_LATER} AND fire.due_at <= $1{days}) AS is_due"
        );
        let statement = self.dialect().statement(sql, [now.0.into()]);
        let row = UnownedIntents::find_by_statement(statement).one(self.rounds()).await?;
        Ok(row.unwrap_or_default())
    }

    /// Schedules with unowned intents about which a decision is needed: the intents are due; no run
    /// of the schedule is live; the schedule was paused, edited or deleted; a queued fire is past
    /// its deadline; or runs that must make way have not been asked to stop. No run makes way for a
    /// fire that was missed: it waits, and a schedule about which nothing can be decided must not
    /// take the place of another one.
    pub async fn schedules_to_release(
        &self,
        now: Timestamp,
        limit: u64,
    ) -> Result<Vec<Uuid>, StoreError> {
        let runs = self.dialect().live_runs("run.id", now);
        let days = &self.dialect().pending_fires("fire.scheduled_at", now, RowsSince::Margin);
        let sql = format!(
            "{} SELECT waiting.schedule_id AS id \
             FROM waiting LEFT JOIN schedule s ON s.id = waiting.schedule_id \
             WHERE waiting.schedule_id IS NOT NULL AND ( \
               s.id IS NULL OR s.deleted_at IS NOT NULL OR NOT s.enabled \
               OR {} < s.fires_version OR {} < $1 \
               OR (s.overlap IN ('cancel_other', 'terminate_other') AND {} IS NULL \
                 AND EXISTS (SELECT 1 FROM run WHERE run.schedule_id = s.id \
                   AND run.state IN ('queued', 'running', 'retrying') \
                   AND run.trigger <> 'backfill' AND (run.cancel_requested_at IS NULL \
                     OR s.overlap = 'terminate_other'){runs})) \
               OR NOT (EXISTS (SELECT 1 FROM run WHERE run.schedule_id = s.id \
                   AND run.state IN ('queued', 'running', 'retrying') \
                   AND run.trigger <> 'backfill'{runs}) \
                 OR EXISTS (SELECT 1 FROM fire WHERE fire.schedule_id = s.id \
                   AND fire.verdict = 'pending' AND fire.claimed_by IS NOT NULL{days}))) \
             UNION \
             SELECT later.schedule_id AS id FROM (SELECT fire.schedule_id FROM fire \
               WHERE {COMES_LATER} AND fire.due_at <= $1{days} \
               ORDER BY fire.due_at, fire.scheduled_at LIMIT $2) later \
             LIMIT $2",
            schedules_with_buffers(days),
            head("fire.schedule_version", days),
            first_deadline(days),
            head("fire.made_up_for", days),
        );
        let values = [now.0.into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        let rows = KeyRow::find_by_statement(statement).all(self.rounds()).await?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }

    /// The facts about all buffers. See [`BufferOutlook`].
    pub async fn buffer_outlook(&self, now: Timestamp) -> Result<BufferOutlook, StoreError> {
        #[derive(FromQueryResult)]
        struct OutlookRow {
            buffers: i64,
            deadline: Option<i64>,
        }
        let days = &self.dialect().pending_fires("fire.scheduled_at", now, RowsSince::Margin);
        let sql = format!(
            "{} SELECT count(*) AS buffers, \
               min({}) AS deadline \
             FROM waiting JOIN schedule s ON s.id = waiting.schedule_id",
            schedules_with_buffers(days),
            first_deadline(days),
        );
        let statement = self.dialect().statement(sql, []);
        let row = OutlookRow::find_by_statement(statement).one(self.rounds()).await?;
        Ok(row.map_or_else(BufferOutlook::default, |row| BufferOutlook {
            waits: row.buffers > 0,
            // The planner must look after the deadline, not at it.
            deadline: row.deadline.map(|at| Timestamp(at.saturating_add(1))),
        }))
    }

    /// The current state of the schedules in `ids`, locked until the transaction ends;
    /// `None` for deleted ones.
    /// Schedules that another transaction has locked are left out, without waiting for them.
    pub async fn lock_queues(
        &self,
        tx: &DatabaseTransaction,
        ids: &[Uuid],
    ) -> Result<HashMap<Uuid, Option<BufferQueue>>, StoreError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let lock = self.dialect().skip_locked("s");
        let sql = format!(
            "SELECT s.id, s.version, s.fires_version, s.enabled, s.deleted_at, s.start_deadline_ms, \
               s.jitter_ms, s.overlap, s.buffer_limit FROM schedule s WHERE s.id IN (SELECT id FROM v) ORDER BY s.id {lock}"
        );
        let ids_of = |ids: &[Uuid], sql: &str| {
            BulkValues::default().uuid("id", ids.iter().copied()).statement(
                self.dialect(),
                sql,
                vec![],
            )
        };
        let rows = BufferQueue::find_by_statement(ids_of(ids, &sql)).all(tx).await?;
        let mut queues: HashMap<_, _> = rows.into_iter().map(|row| (row.id, Some(row))).collect();
        let missing: Vec<Uuid> =
            ids.iter().copied().filter(|id| !queues.contains_key(id)).collect();
        if !missing.is_empty() {
            let sql = "SELECT v.id AS id FROM v \
                WHERE NOT EXISTS (SELECT 1 FROM schedule s WHERE s.id = v.id)";
            let gone = returned_ids(tx, ids_of(&missing, sql)).await?;
            queues.extend(gone.into_iter().map(|id| (id, None)));
        }
        Ok(queues)
    }

    /// The unowned intents of `schedules`: up to `each` per queue (first those past their deadline,
    /// then those at its head), and up to `limit` others that have become due.
    pub async fn unowned_intents(
        &self,
        tx: &DatabaseTransaction,
        schedules: &[Uuid],
        now: Timestamp,
        each: u64,
        limit: u64,
    ) -> Result<Vec<Intent>, StoreError> {
        if schedules.is_empty() {
            return Ok(vec![]);
        }
        let waiting = format!(
            "SELECT * FROM (SELECT {INTENT_COLUMNS}, row_number() OVER ( \
               PARTITION BY fire.schedule_id ORDER BY \
                 CASE WHEN {SINCE} + s.start_deadline_ms < {{1}} THEN 0 ELSE 1 END, \
                 fire.queue_position, fire.id) AS place \
             FROM fire LEFT JOIN schedule s ON s.id = fire.schedule_id \
             WHERE {WAITS} AND fire.schedule_id IN (SELECT id FROM v)) q \
             WHERE place <= {{0}} ORDER BY schedule_id, place"
        );
        // The limit is inside the subquery, because SQLite would
        // otherwise read the whole history of each schedule.
        let later = format!(
            "SELECT * FROM (SELECT {INTENT_COLUMNS} FROM fire \
               WHERE {COMES_LATER} AND fire.due_at <= {{0}} \
               ORDER BY fire.due_at, fire.scheduled_at LIMIT {{1}}) later \
             WHERE schedule_id IN (SELECT id FROM v) ORDER BY due_at, scheduled_at"
        );
        let ids = || BulkValues::default().uuid("id", schedules.iter().copied());
        let bounds = vec![each.cast_signed().into(), now.0.into()];
        let waiting = ids().statement(self.dialect(), &waiting, bounds);
        let bounds = vec![now.0.into(), limit.cast_signed().into()];
        let later = ids().statement(self.dialect(), &later, bounds);
        let mut intents = Intent::find_by_statement(waiting).all(tx).await?;
        intents.extend(Intent::find_by_statement(later).all(tx).await?);
        Ok(intents)
    }

    /// Makes `node` the owner of unowned intents, so that it hands them over.
    pub async fn own_intents(
        &self,
        tx: &DatabaseTransaction,
        intents: &[Intent],
        node: Uuid,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if intents.is_empty() {
            return Ok(());
        }
        let days =
            DayRange::of_instants("fire.scheduled_at", intents.iter().map(|i| i.scheduled_at));
        let ids =
            BulkValues::default().uuid("id", intents.iter().map(|intent| intent.id)).days(days);
        let sql = format!(
            "UPDATE fire SET claimed_by = {{0}}, claimed_at = {{1}}, queue_position = NULL \
             FROM v WHERE fire.id = v.id AND {} {{days}}",
            self.dialect().of_found("fire.verdict = 'pending' AND fire.claimed_by IS NULL")
        );
        let statement = ids.statement(self.dialect(), &sql, vec![node.into(), now.0.into()]);
        tx.execute_raw(statement).await?;
        Ok(())
    }
}

/// The first `limit` fires that wait in a schedule's buffer, in the order in which they will start.
pub async fn queue<C: ConnectionTrait>(
    connection: &C,
    schedule: Uuid,
    limit: u64,
) -> Result<Vec<fire::Model>, StoreError> {
    let query = fire::Entity::find()
        .filter(Column::ScheduleId.eq(schedule))
        .filter(Column::Verdict.eq(fire::Verdict::Pending))
        .filter(Column::QueuePosition.is_not_null())
        .order_by_asc(Column::QueuePosition)
        .order_by_asc(Column::Id)
        .limit(limit);
    Ok(query.all(connection).await?)
}

/// The number of fires that wait in the buffer of each of these schedules.
pub async fn sizes(store: &Store, schedules: &[Uuid]) -> Result<HashMap<Uuid, i64>, StoreError> {
    #[derive(FromQueryResult)]
    struct BufferSize {
        schedule_id: Uuid,
        fires: i64,
    }
    if schedules.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = format!(
        "SELECT fire.schedule_id AS schedule_id, count(*) AS fires \
         FROM v JOIN fire ON fire.schedule_id = v.id WHERE {WAITS} GROUP BY fire.schedule_id"
    );
    let statement = BulkValues::default().uuid("id", schedules.iter().copied()).statement(
        store.dialect(),
        &sql,
        vec![],
    );
    let rows = BufferSize::find_by_statement(statement).all(store.read()).await?;
    Ok(rows.into_iter().map(|row| (row.schedule_id, row.fires)).collect())
}
