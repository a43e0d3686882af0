//! Fires that wait for runs in their way to settle, and other intents that nobody owns yet.
//!
//! The buffer is the ledger itself: a fire that waits is `pending`, without an owner, and has a
//! `queue_position`. Whoever writes a schedule's queue holds the schedule's row, so a claim and a
//! release never decide about the same schedule at once.

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

use super::{
    DatabaseTransaction, Store, StoreError,
    bulk::Bulk,
    claims::returned_ids,
    days::Days,
    handoffs::{INTENT_COLUMNS, Intent},
    live::Since,
};

/// How a schedule's buffer stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffered {
    /// Fires that wait and may still start: neither stale nor past their deadline.
    pub waiting: usize,
    /// The highest place that is taken.
    pub last: i64,
}

/// A schedule whose fires wait, as it is now.
#[derive(Clone, Debug, FromQueryResult)]
pub struct Queue {
    /// The schedule.
    pub id: Uuid,
    /// Its version.
    pub version: i32,
    /// Whether it may fire.
    pub enabled: bool,
    /// Whether it is gone.
    pub deleted_at: Option<Timestamp>,
    /// See `entity::schedule`.
    pub start_deadline_ms: Option<i64>,
    /// See `entity::schedule`.
    pub jitter_ms: i64,
    /// See `entity::schedule`.
    pub overlap: Overlap,
    /// See `entity::schedule`.
    pub buffer_limit: Option<i32>,
}

/// What a planner must know of all buffers to look again in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// Whether a fire waits anywhere.
    pub waits: bool,
    /// When the first of those at the head of a queue is past its deadline.
    pub deadline: Option<Timestamp>,
}

/// An intent that goes into the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The fire.
    pub id: Uuid,
    /// Its instant.
    pub scheduled_at: Timestamp,
    /// Its place.
    pub place: i64,
    /// The run that it waits for, if one is known.
    pub behind: Option<String>,
}

/// A fire in a buffer. The partial index has the same words.
const WAITS: &str = "fire.verdict = 'pending' AND fire.queue_position IS NOT NULL";

/// `waiting(schedule_id)`: the schedules that have a buffer. One step along the index for each of
/// them, however many fires wait.
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

/// From when the deadline of a fire of the schedule `s` counts: as the engine has it.
const SINCE: &str = "CASE WHEN fire.due_at < fire.scheduled_at + s.jitter_ms \
    THEN fire.due_at ELSE fire.scheduled_at + s.jitter_ms END";

/// What `of` is of the fire at the head of the queue of `waiting.schedule_id`.
fn head(of: &str, days: &str) -> String {
    format!(
        "(SELECT {of} FROM fire WHERE {WAITS}{days} \
           AND fire.schedule_id = waiting.schedule_id ORDER BY fire.queue_position LIMIT 1)"
    )
}

impl Store {
    /// How the buffers of `schedules` stand at `now`; those without one are left out.
    pub async fn buffers_of(
        &self,
        tx: &DatabaseTransaction,
        schedules: &[Uuid],
        now: Timestamp,
        since: Since,
    ) -> Result<HashMap<Uuid, Buffered>, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            schedule_id: Uuid,
            waiting: i64,
            last: i64,
        }
        if schedules.is_empty() {
            return Ok(HashMap::new());
        }
        let sql = format!(
            "SELECT fire.schedule_id AS schedule_id, \
               count(CASE WHEN fire.schedule_version = s.version \
                 AND (s.start_deadline_ms IS NULL OR {SINCE} + s.start_deadline_ms >= {{0}}) \
                 THEN 1 END) AS waiting, \
               max(fire.queue_position) AS last \
             FROM (SELECT DISTINCT id FROM v) w JOIN fire ON fire.schedule_id = w.id \
               JOIN schedule s ON s.id = w.id \
             WHERE {WAITS}{} GROUP BY fire.schedule_id",
            self.dialect().pending_fires("fire.scheduled_at", now, since)
        );
        let statement = Bulk::default().uuid("id", schedules.iter().copied()).statement(
            self.dialect(),
            &sql,
            vec![now.0.into()],
        );
        let rows = Row::find_by_statement(statement).all(tx).await?;
        let buffered = |row: Row| {
            let waiting = usize::try_from(row.waiting).unwrap_or(usize::MAX);
            (row.schedule_id, Buffered { waiting, last: row.last })
        };
        Ok(rows.into_iter().map(buffered).collect())
    }

    /// Schedules with intents that nobody owns and about which something is to be decided: their
    /// time has come; nothing is alive of the schedule any more; it was paused, edited or deleted;
    /// the head of the queue is past its deadline; or runs that are to give way have not been told.
    pub async fn schedules_to_release(
        &self,
        now: Timestamp,
        limit: u64,
    ) -> Result<Vec<Uuid>, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            id: Uuid,
        }
        let runs = self.dialect().live_runs("run.id", now);
        let days = &self.dialect().pending_fires("fire.scheduled_at", now, Since::Margin);
        let sql = format!(
            "{} SELECT waiting.schedule_id AS id \
             FROM waiting LEFT JOIN schedule s ON s.id = waiting.schedule_id \
             WHERE waiting.schedule_id IS NOT NULL AND ( \
               s.id IS NULL OR s.deleted_at IS NOT NULL OR NOT s.enabled \
               OR {} <> s.version OR {} + s.start_deadline_ms < $1 \
               OR (s.overlap = 'cancel_other' AND EXISTS (SELECT 1 FROM run \
                 WHERE run.schedule_id = s.id AND run.state IN ('queued', 'running', 'retrying') \
                   AND run.trigger <> 'backfill' AND run.cancel_requested_at IS NULL{runs})) \
               OR NOT (EXISTS (SELECT 1 FROM run WHERE run.schedule_id = s.id \
                   AND run.state IN ('queued', 'running', 'retrying') \
                   AND run.trigger <> 'backfill'{runs}) \
                 OR EXISTS (SELECT 1 FROM fire WHERE fire.schedule_id = s.id \
                   AND fire.verdict = 'pending' AND fire.claimed_by IS NOT NULL{days}))) \
             UNION \
             SELECT later.schedule_id AS id FROM (SELECT fire.schedule_id FROM fire \
               WHERE fire.verdict = 'pending' AND fire.claimed_by IS NULL \
                 AND fire.queue_position IS NULL AND fire.due_at <= $1{days} \
               ORDER BY fire.due_at, fire.scheduled_at LIMIT $2) later \
             LIMIT $2",
            schedules_with_buffers(days),
            head("fire.schedule_version", days),
            head(SINCE, days),
        );
        let values = [now.0.into(), limit.cast_signed().into()];
        let statement = self.dialect().statement(sql, values);
        let rows = Row::find_by_statement(statement).all(self.read()).await?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }

    /// See [`Outlook`].
    pub async fn buffer_outlook(&self, now: Timestamp) -> Result<Outlook, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            buffers: i64,
            deadline: Option<i64>,
        }
        let days = &self.dialect().pending_fires("fire.scheduled_at", now, Since::Margin);
        let sql = format!(
            "{} SELECT count(*) AS buffers, \
               min({} + s.start_deadline_ms) AS deadline \
             FROM waiting JOIN schedule s ON s.id = waiting.schedule_id",
            schedules_with_buffers(days),
            head(SINCE, days),
        );
        let statement = self.dialect().statement(sql, []);
        let row = Row::find_by_statement(statement).one(self.read()).await?;
        Ok(row.map_or_else(Outlook::default, |row| Outlook {
            waits: row.buffers > 0,
            // Past it, not at it.
            deadline: row.deadline.map(|at| Timestamp(at.saturating_add(1))),
        }))
    }

    /// The schedules of `ids` as they are now, locked until the transaction ends.
    pub async fn lock_queues(
        &self,
        tx: &DatabaseTransaction,
        ids: &[Uuid],
    ) -> Result<HashMap<Uuid, Queue>, StoreError> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        // Waited for in the order of keys, so that two of these never wait for each other; a claim
        // waits for no schedule.
        let lock = if self.dialect().is_postgres() { "FOR UPDATE OF s" } else { "" };
        let sql = format!(
            "SELECT s.id, s.version, s.enabled, s.deleted_at, s.start_deadline_ms, s.jitter_ms, s.overlap, \
               s.buffer_limit FROM schedule s WHERE s.id IN (SELECT id FROM v) ORDER BY s.id {lock}"
        );
        let statement =
            Bulk::default().uuid("id", ids.iter().copied()).statement(self.dialect(), &sql, vec![]);
        let rows = Queue::find_by_statement(statement).all(tx).await?;
        Ok(rows.into_iter().map(|row| (row.id, row)).collect())
    }

    /// The intents of `schedules` that nobody owns: up to `each` from the head of each queue, and
    /// up to `limit` whose time has come.
    pub async fn unowned_intents(
        &self,
        tx: &DatabaseTransaction,
        schedules: &[Uuid],
        now: Timestamp,
        (each, limit): (u64, u64),
    ) -> Result<Vec<Intent>, StoreError> {
        if schedules.is_empty() {
            return Ok(vec![]);
        }
        let waiting = format!(
            "SELECT * FROM (SELECT {INTENT_COLUMNS}, row_number() OVER ( \
               PARTITION BY fire.schedule_id ORDER BY fire.queue_position, fire.id) AS place \
             FROM fire WHERE {WAITS} AND fire.schedule_id IN (SELECT id FROM v)) q \
             WHERE place <= {{0}} ORDER BY schedule_id, place"
        );
        // The limit stands inside, or SQLite would read the whole history of each schedule.
        let later = format!(
            "SELECT * FROM (SELECT {INTENT_COLUMNS} FROM fire \
               WHERE fire.verdict = 'pending' AND fire.claimed_by IS NULL \
                 AND fire.queue_position IS NULL AND fire.due_at <= {{0}} \
               ORDER BY fire.due_at, fire.scheduled_at LIMIT {{1}}) later \
             WHERE schedule_id IN (SELECT id FROM v) ORDER BY due_at, scheduled_at"
        );
        let ids = || Bulk::default().uuid("id", schedules.iter().copied());
        let each = each.cast_signed().into();
        let waiting = ids().statement(self.dialect(), &waiting, vec![each]);
        let bounds = vec![now.0.into(), limit.cast_signed().into()];
        let later = ids().statement(self.dialect(), &later, bounds);
        let mut intents = Intent::find_by_statement(waiting).all(tx).await?;
        intents.extend(Intent::find_by_statement(later).all(tx).await?);
        Ok(intents)
    }

    /// Takes intents that nobody owns: `node` hands them over next.
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
        let days = Days::of_instants("fire.scheduled_at", intents.iter().map(|i| i.scheduled_at));
        let ids = Bulk::default().uuid("id", intents.iter().map(|intent| intent.id)).days(days);
        let sql = format!(
            "UPDATE fire SET claimed_by = {{0}}, claimed_at = {{1}}, queue_position = NULL \
             FROM v WHERE fire.id = v.id AND {} {{days}}",
            self.dialect().of_found("fire.verdict = 'pending' AND fire.claimed_by IS NULL")
        );
        let statement = ids.statement(self.dialect(), &sql, vec![node.into(), now.0.into()]);
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Puts intents that nobody owns into the buffer.
    pub async fn buffer_intents(
        &self,
        tx: &DatabaseTransaction,
        fires: &[Queued],
    ) -> Result<(), StoreError> {
        if fires.is_empty() {
            return Ok(());
        }
        let statement = Bulk::default()
            .uuid("id", fires.iter().map(|fire| fire.id))
            .int("place", fires.iter().map(|fire| fire.place))
            .text("detail", fires.iter().map(|fire| fire.behind.clone()))
            .days(Days::of_instants("fire.scheduled_at", fires.iter().map(|f| f.scheduled_at)))
            .statement(
                self.dialect(),
                "UPDATE fire SET reason = 'buffered', detail = v.detail, \
                   queue_position = v.place \
                 FROM v WHERE fire.id = v.id AND fire.verdict = 'pending' \
                   AND fire.claimed_by IS NULL {days}",
                vec![],
            );
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Ends the waiting of all fires of each schedule but the one that takes their place.
    pub async fn replace_waiting(
        &self,
        tx: &DatabaseTransaction,
        places: &[(Uuid, Uuid)],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if places.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE fire SET verdict = 'skipped', reason = 'replaced', detail = v.detail, \
               decided_at = {{0}}, queue_position = NULL \
             FROM v WHERE fire.schedule_id = v.schedule_id AND fire.id <> v.fire_id AND {WAITS}"
        );
        let statement = Bulk::default()
            .uuid("schedule_id", places.iter().map(|(schedule, _)| *schedule))
            .uuid("fire_id", places.iter().map(|(_, fire)| *fire))
            .text("detail", places.iter().map(|(_, fire)| fire.to_string()))
            .statement(self.dialect(), &sql, vec![now.0.into()]);
        tx.execute_raw(statement).await?;
        Ok(())
    }

    /// Takes fires out of the buffer of a schedule that this transaction has locked: all, or those
    /// of `fires`. Says which those were.
    pub async fn purge_waiting(
        &self,
        tx: &DatabaseTransaction,
        schedule: Uuid,
        fires: Option<&[Uuid]>,
        who: &str,
        now: Timestamp,
    ) -> Result<Vec<Uuid>, StoreError> {
        if fires.is_some_and(<[Uuid]>::is_empty) {
            return Ok(vec![]);
        }
        let of = if fires.is_some() { "AND fire.id IN (SELECT id FROM v)" } else { "" };
        let sql = format!(
            "UPDATE fire SET verdict = 'skipped', reason = 'purged', detail = {{0}}, \
               decided_at = {{1}}, queue_position = NULL \
             WHERE fire.schedule_id = {{2}} AND {WAITS} {of} RETURNING fire.id"
        );
        // Without a filter its one row is not looked at.
        const NONE: [Uuid; 1] = [Uuid::nil()];
        let ids = fires.unwrap_or(&NONE).iter().copied();
        let values = vec![who.into(), now.0.into(), schedule.into()];
        let statement = Bulk::default().uuid("id", ids).statement(self.dialect(), &sql, values);
        let mut purged: Vec<Uuid> = returned_ids(tx, statement).await?.into_iter().collect();
        purged.sort_unstable();
        Ok(purged)
    }

    /// Gives the fires of a schedule's buffer new places.
    pub async fn place_waiting(
        &self,
        tx: &DatabaseTransaction,
        schedule: Uuid,
        places: &[(Uuid, i64)],
    ) -> Result<(), StoreError> {
        if places.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE fire SET queue_position = v.place \
             FROM v WHERE fire.id = v.id AND fire.schedule_id = {{0}} AND {WAITS}"
        );
        let statement = Bulk::default()
            .uuid("id", places.iter().map(|(id, _)| *id))
            .int("place", places.iter().map(|(_, place)| *place))
            .statement(self.dialect(), &sql, vec![schedule.into()]);
        tx.execute_raw(statement).await?;
        Ok(())
    }
}

/// The first `limit` fires that wait in a schedule's buffer, in the order in which they will
/// start.
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

/// How many fires wait in the buffer of each of those schedules.
pub async fn sizes(store: &Store, schedules: &[Uuid]) -> Result<HashMap<Uuid, i64>, StoreError> {
    #[derive(FromQueryResult)]
    struct Row {
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
    let statement = Bulk::default().uuid("id", schedules.iter().copied()).statement(
        store.dialect(),
        &sql,
        vec![],
    );
    let rows = Row::find_by_statement(statement).all(store.read()).await?;
    Ok(rows.into_iter().map(|row| (row.schedule_id, row.fires)).collect())
}
