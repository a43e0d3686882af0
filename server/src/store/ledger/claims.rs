//! Claims due schedules: locks and reads them, writes their fires, and moves their cursors. The
//! planner calls these functions inside one transaction, and the central guarantee depends on that.

use std::collections::{HashMap, HashSet};

use entity::{
    Keys, Strings, Timestamp,
    fire::{Kind, MadeUpFor, Reason, Verdict},
    schedule::{CatchUp, DstGap, DstOverlap, Overlap},
};
use sea_orm::{ActiveEnum, ConnectionTrait, FromQueryResult};
use uuid::Uuid;

use super::candidates::Candidate;
use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::{
        bulk::{BulkValues, MAX_ROWS, returned_ids},
        by_place::by_place,
        days::DayRange,
        live::RowsSince,
    },
};

/// The part of a schedule that the planner needs. It does not include the context, which can be
/// large and which the hand-off copies inside the database.
#[derive(Clone, Debug)]
pub struct DueSchedule {
    /// The key of the schedule.
    pub id: Uuid,
    /// The namespace of the schedule.
    pub namespace_id: Uuid,
    /// The version that is claimed.
    pub version: i32,
    /// The expressions. For these and the fields that follow, see `entity::schedule`.
    pub expressions: Strings,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub zone: String,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub dst_gap: DstGap,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub dst_overlap: DstOverlap,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub anchor_at: Timestamp,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub start_at: Option<Timestamp>,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub end_at: Option<Timestamp>,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub jitter_ms: i64,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub calendars: Option<Keys>,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub max_fires: Option<i64>,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub fire_count: i64,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub catch_up: CatchUp,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub grace_ms: i64,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub catch_up_max: i32,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub catch_up_spacing_ms: i64,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub catch_up_window_ms: i64,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub overlap: Overlap,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub buffer_limit: Option<i32>,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub start_deadline_ms: Option<i64>,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub paused_until: Option<Timestamp>,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub paused_missed: Option<CatchUp>,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub pause_from: Option<Timestamp>,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub created_at: Timestamp,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub updated_at: Timestamp,
    /// The cursor: the next instant without a row.
    pub next_scheduled_at: Timestamp,
    /// When the cursor becomes due; `None` if there is no cursor.
    pub next_fire_at: Option<Timestamp>,
}

by_place! {
    /// The columns of [`DueSchedule`].
    pub(in crate::store) const DUE_COLUMNS of DueSchedule =
        id, namespace_id, version, expressions, zone, dst_gap, dst_overlap, anchor_at,
        start_at, end_at, jitter_ms, calendars, max_fires, fire_count, catch_up,
        grace_ms, catch_up_max, catch_up_spacing_ms, catch_up_window_ms, overlap,
        buffer_limit, start_deadline_ms, paused_until, paused_missed, pause_from,
        created_at, updated_at, next_scheduled_at, next_fire_at,
}

/// A fire that is to be written.
#[derive(Clone, Debug)]
pub struct NewFire {
    /// The key of the fire.
    pub id: Uuid,
    /// The namespace of the schedule.
    pub namespace_id: Uuid,
    /// The key of the schedule.
    pub schedule_id: Uuid,
    /// The version of the schedule.
    pub schedule_version: i32,
    /// The instant of the fire.
    pub scheduled_at: Timestamp,
    /// When the fire is due.
    pub due_at: Timestamp,
    /// The last instant of a range; for a single fire, the same instant.
    pub last_scheduled_at: Timestamp,
    /// Number of instants that the row stands for.
    pub count: i64,
    /// The effect of a clock change at the instant.
    pub kind: Kind,
    /// The fire's verdict.
    pub verdict: Verdict,
    /// The reason for the verdict.
    pub reason: Reason,
    /// Details of the reason.
    pub detail: Option<String>,
    /// The node that will hand the fire over; `None` for any node, once the fire is due.
    pub claimed_by: Option<Uuid>,
    /// The fire's position in the buffer, if it waits there.
    pub queue_position: Option<i64>,
    /// Why a late fire was missed; also set on a fire that waits for such fires.
    pub made_up_for: Option<MadeUpFor>,
}

/// The new position of a schedule's cursor.
#[derive(Clone, Copy, Debug)]
pub struct CursorAdvance {
    /// The key of the schedule.
    pub schedule_id: Uuid,
    /// The next instant without a row.
    pub next_scheduled_at: Option<Timestamp>,
    /// When the next instant is to be claimed.
    pub next_fire_at: Option<Timestamp>,
    /// The last instant that has a row.
    pub last_fire_at: Option<Timestamp>,
    /// Number of further fires that have started or will start.
    pub fires: i64,
}

/// A node whose clock differs from the database's by more than this does not schedule.
/// Smaller differences are corrected.
pub const MAX_OFFSET_MS: i64 = 5_000;

/// If the time of a claim is ahead of the database's clock by more than this, nothing counts as
/// due, so that no fire starts earlier.
pub const MAX_AHEAD_MS: i64 = 100;

/// When a node may claim due schedules, by shard.
#[derive(Clone, Copy, Debug)]
pub struct ShardTurns<'a> {
    /// One digit for each shard: `1` if this node claims at once, `2` or `3` if
    /// schedules must have been due for some time.
    pub of_shards: &'a str,
    /// The time by which schedules in shards with the digit `2` must have been due.
    pub second: Timestamp,
    /// The time by which schedules in shards with the digit `3` must have been due.
    pub last: Timestamp,
}

impl Store {
    /// The schedules that are due at `now`, most overdue first, locked until the transaction ends.
    /// Leaves out schedules that another node is claiming, those whose turn for this node has not
    /// come, and those in `passed`. Nothing is due if `now` is ahead of the database's clock: a
    /// node whose clock was just stepped must not claim anything.
    pub async fn lock_due_schedules(
        &self,
        tx: &DatabaseTransaction,
        now: Timestamp,
        turns: Option<ShardTurns<'_>>,
        passed: &[Candidate],
        limit: u64,
    ) -> Result<Vec<DueSchedule>, StoreError> {
        let lock = self.dialect().skip_locked("schedule");
        let statement = self.due(DUE_COLUMNS, now, turns, passed, limit, &lock);
        Ok(DueSchedule::find_by_statement(statement).all(tx).await?)
    }

    /// For each of `schedules`, the number of live runs and of intents that will become runs,
    /// and the latest of them. Schedules without any are left out.
    /// Runs of backfills do not count, because they have a limit of their own.
    pub async fn live_by_schedule(
        &self,
        tx: &DatabaseTransaction,
        schedules: &[Uuid],
        now: Timestamp,
        since: RowsSince,
    ) -> Result<HashMap<Uuid, Live>, StoreError> {
        if schedules.is_empty() {
            return Ok(HashMap::new());
        }
        // PostgreSQL has no `max` for keys, but their text form sorts in the same order.
        let text = if self.dialect().is_postgres() { "l.id::text" } else { "hex(l.id)" };
        let sql = format!(
            "SELECT l.schedule_id AS schedule_id, count(*) AS runs, max({text}) AS latest FROM ( \
               SELECT run.schedule_id, run.id FROM (SELECT DISTINCT id FROM v) w \
                 JOIN run ON run.schedule_id = w.id \
                WHERE run.state IN ('queued', 'running', 'retrying') \
                  AND run.trigger <> 'backfill'{} \
               UNION ALL \
               SELECT fire.schedule_id, fire.id FROM (SELECT DISTINCT id FROM v) w \
                 JOIN fire ON fire.schedule_id = w.id \
                WHERE fire.verdict = 'pending' AND fire.claimed_by IS NOT NULL{} \
             ) l GROUP BY l.schedule_id",
            self.dialect().live_runs("run.id", now),
            self.dialect().pending_fires("fire.scheduled_at", now, since)
        );
        let statement = BulkValues::default().uuid("id", schedules.iter().copied()).statement(
            self.dialect(),
            &sql,
            vec![],
        );
        let rows = LiveRow::find_by_statement(statement).all(tx).await?;
        let live = |row: LiveRow| {
            let latest = Uuid::try_parse(&row.latest).unwrap_or_default();
            (row.schedule_id, Live { runs: row.runs, latest })
        };
        Ok(rows.into_iter().map(live).collect())
    }

    /// Writes the fires whose instants have no row yet, and returns them.
    /// If an instant already has a row, the unique key shows that another writer was first.
    ///
    /// Usually all fires are written, as the number of rows shows.
    /// Returning a key for each row, here, in the hand-off and in the settlement,
    /// took a seventh of the time of a storm on SQLite.
    pub async fn insert_fires_if_absent(
        &self,
        tx: &DatabaseTransaction,
        fires: &[NewFire],
        now: Timestamp,
    ) -> Result<HashSet<Uuid>, StoreError> {
        let mut written = HashSet::with_capacity(fires.len());
        for some in fires.chunks(MAX_ROWS) {
            written.extend(self.insert_some_fires(tx, some, now).await?);
        }
        let pending = fires.iter().filter(|fire| fire.verdict == Verdict::Pending);
        self.dialect().live().widen(pending.map(|fire| (fire.id, fire.scheduled_at)));
        Ok(written)
    }

    async fn insert_some_fires(
        &self,
        tx: &DatabaseTransaction,
        fires: &[NewFire],
        now: Timestamp,
    ) -> Result<HashSet<Uuid>, StoreError> {
        let decided = |fire: &NewFire| (fire.verdict != Verdict::Pending).then_some(now.0);
        // Fires that wait in a buffer, or never get a run, are in the change feed. Usually a batch
        // has none of them, and then the statement does not look for a stamp.
        let is_followed = |fire: &NewFire| match fire.verdict {
            Verdict::Pending => fire.queue_position.is_some(),
            Verdict::Started => false,
            Verdict::Skipped | Verdict::Missed | Verdict::Collapsed | Verdict::Abandoned => true,
        };
        let changed = if fires.iter().any(is_followed) {
            let stamp = self.dialect().stamp("fire");
            format!("CASE WHEN followed = 1 THEN {stamp} END")
        } else {
            "CAST(NULL AS bigint)".to_owned()
        };
        let sql = format!(
            "INSERT INTO fire (id, namespace_id, schedule_id, schedule_version, \
               scheduled_at, due_at, last_scheduled_at, count, kind, verdict, reason, detail, \
               claimed_by, claimed_at, queue_position, decided_at, made_up_for, \
               recovery_attempts, changed) \
             SELECT id, namespace_id, schedule_id, schedule_version, \
               scheduled_at, due_at, last_scheduled_at, count, kind, verdict, reason, detail, \
               claimed_by, {{0}}, queue_position, decided_at, made_up_for, 0, {changed} \
             FROM v WHERE true \
             ON CONFLICT (schedule_id, scheduled_at) DO NOTHING"
        );
        let statement = BulkValues::default()
            .uuid("id", fires.iter().map(|fire| fire.id))
            .uuid("namespace_id", fires.iter().map(|fire| fire.namespace_id))
            .uuid("schedule_id", fires.iter().map(|fire| fire.schedule_id))
            .int("schedule_version", fires.iter().map(|fire| i64::from(fire.schedule_version)))
            .int("scheduled_at", fires.iter().map(|fire| fire.scheduled_at.0))
            .int("due_at", fires.iter().map(|fire| fire.due_at.0))
            .int("last_scheduled_at", fires.iter().map(|fire| fire.last_scheduled_at.0))
            .int("count", fires.iter().map(|fire| fire.count))
            .text("kind", fires.iter().map(|fire| fire.kind.to_value()))
            .text("verdict", fires.iter().map(|fire| fire.verdict.to_value()))
            .text("reason", fires.iter().map(|fire| fire.reason.to_value()))
            .text("detail", fires.iter().map(|fire| fire.detail.clone()))
            .uuid("claimed_by", fires.iter().map(|fire| fire.claimed_by))
            .int("queue_position", fires.iter().map(|fire| fire.queue_position))
            .int("decided_at", fires.iter().map(decided))
            .text("made_up_for", fires.iter().map(|fire| fire.made_up_for.map(|it| it.to_value())))
            .int("followed", fires.iter().map(|fire| is_followed(fire).then_some(1_i64)))
            .statement(self.dialect(), &sql, vec![now.0.into()]);
        if tx.execute_raw(statement).await?.rows_affected() == fires.len() as u64 {
            return Ok(fires.iter().map(|fire| fire.id).collect());
        }
        // The keys are new, so only this statement can have written a row with one of them.
        let statement = BulkValues::default()
            .uuid("id", fires.iter().map(|fire| fire.id))
            .int("scheduled_at", fires.iter().map(|fire| fire.scheduled_at.0))
            .days(DayRange::of_instants("fire.scheduled_at", fires.iter().map(|f| f.scheduled_at)))
            .statement(
                self.dialect(),
                "SELECT fire.id FROM v JOIN fire ON fire.id = v.id \
                   AND fire.scheduled_at = v.scheduled_at {days}",
                vec![],
            );
        returned_ids(tx, statement).await
    }

    /// Moves the cursors of schedules that this transaction has locked, and counts the fires that
    /// start. A schedule that has reached its limit of fires gets no cursor.
    pub async fn advance_cursors(
        &self,
        tx: &DatabaseTransaction,
        advances: &[CursorAdvance],
    ) -> Result<(), StoreError> {
        if advances.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "UPDATE schedule SET fire_count = schedule.fire_count + v.fires, \
               next_scheduled_at = CASE WHEN schedule.fire_count + v.fires >= schedule.max_fires \
                 THEN NULL ELSE v.next_scheduled_at END, \
               next_fire_at = CASE WHEN schedule.fire_count + v.fires >= schedule.max_fires \
                 THEN NULL ELSE v.next_fire_at END, \
               last_fire_at = coalesce(v.last_fire_at, schedule.last_fire_at), changed = {} \
             FROM v WHERE schedule.id = v.id",
            self.dialect().stamp("schedule")
        );
        let ms = |at: Option<Timestamp>| at.map(|at| at.0);
        let statement = BulkValues::default()
            .uuid("id", advances.iter().map(|advance| advance.schedule_id))
            .int("next_scheduled_at", advances.iter().map(|advance| ms(advance.next_scheduled_at)))
            .int("next_fire_at", advances.iter().map(|advance| ms(advance.next_fire_at)))
            .int("last_fire_at", advances.iter().map(|advance| ms(advance.last_fire_at)))
            .int("fires", advances.iter().map(|advance| advance.fires))
            .statement(self.dialect(), &sql, vec![]);
        tx.execute_raw(statement).await?;
        Ok(())
    }
}

/// The live runs of a schedule, and intents that will become runs.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Number of live runs and intents.
    pub runs: i64,
    /// The key of the latest run or intent.
    pub latest: Uuid,
}

#[derive(FromQueryResult)]
struct LiveRow {
    schedule_id: Uuid,
    runs: i64,
    latest: String,
}
