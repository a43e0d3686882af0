//! The runs that wait for a node, in the order in which nodes take them.
//!
//! Runs that wait in groups are queried group by group, each group up to the room that it has.
//! One index contains the queues of all groups. So the cost of a round depends on the runs
//! that it takes, plus one look-up per group with a queue, but not on the length of the queues.
//! Runs without a group have an index of their own, so the queues of groups do not slow them down.

use std::cmp::Reverse;

use entity::{Strings, Timestamp, run};
use sea_orm::{ConnectionTrait, FromQueryResult, Value};
use uuid::Uuid;

use super::groups::{GROUPED, first_group, room};
use crate::store::{DatabaseTransaction, Store, StoreError};

/// The part of a waiting run that a node needs.
#[derive(Clone, Debug, FromQueryResult)]
pub struct WaitingRun {
    /// The key of the run.
    pub id: Uuid,
    /// The schedule, if the run has one.
    pub schedule_id: Option<Uuid>,
    /// The name of the schedule.
    pub schedule: Option<String>,
    /// The current version of the schedule.
    pub schedule_version: Option<i32>,
    /// The name of the namespace.
    pub namespace: String,
    /// The key of the namespace.
    pub namespace_id: Uuid,
    /// The workflow that the run executes.
    pub workflow_id: Uuid,
    /// The workflow's version.
    pub workflow_version: i32,
    /// How the run was started. See [`run::Trigger`].
    pub trigger: run::Trigger,
    /// The scheduled instant for which the run was started.
    pub scheduled_at: Timestamp,
    /// When the run was due.
    pub due_at: Timestamp,
    /// The start deadline of the schedule, as in `entity::schedule`.
    /// `None` if the schedule has no start deadline.
    pub start_deadline_ms: Option<i64>,
    #[expect(missing_docs, reason = "entity::schedule says it")]
    pub jitter_ms: Option<i64>,
    /// When the run's first attempt started.
    pub started_at: Option<Timestamp>,
    /// Number of attempts so far.
    pub attempt: i32,
    /// Maximum number of attempts.
    pub max_attempts: i32,
    /// The epoch of the last hold.
    pub epoch: i64,
    /// The run's context.
    pub context: serde_json::Value,
    /// The key by which targets recognise duplicates.
    pub idempotency_key: String,
    /// The group whose limit applies to the run.
    pub group_id: Option<Uuid>,
    /// The tags that a node must have to take the run.
    pub runs_on: Option<Strings>,
    /// Since when the run has been able to start.
    pub available_at: Timestamp,
    /// The run's priority. Of the waiting runs, those with the highest priority are taken first.
    pub priority: i16,
}

/// The runs that still wait after a round of the dispatcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// When the next run may start, without runs that their group holds back. Overdue runs count.
    pub next: Option<Timestamp>,
    /// Whether a run of any group could start, but waits for another run of its group.
    pub grouped: bool,
}

/// A node that takes waiting runs.
#[derive(Clone, Copy, Debug)]
pub struct RunTaker<'a> {
    /// The node's current life.
    pub node: Uuid,
    /// The node's tags, which runs can require.
    pub tags: &'a [String],
    /// The holders of places whose runs the node does not take now.
    pub without: &'a FullHolders,
}

/// Holders that have used up their share of a node's places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FullHolders {
    /// The targets of first tasks; see `entity::run`.
    pub origins: Vec<String>,
    /// Keys of schedules.
    pub schedules: Vec<Uuid>,
    /// Keys of namespaces.
    pub namespaces: Vec<Uuid>,
}

impl FullHolders {
    /// The condition, to be appended to another one. Its values are appended to `values`.
    fn condition(&self, values: &mut Vec<Value>) -> String {
        let mut condition = String::new();
        let origins = self.origins.iter().map(|origin| Value::from(origin.clone()));
        let schedules = self.schedules.iter().map(|id| Value::from(*id));
        let namespaces = self.namespaces.iter().map(|id| Value::from(*id));
        let lists: [(&str, Vec<Value>); 3] = [
            ("origin", origins.collect()),
            ("schedule_id", schedules.collect()),
            ("namespace_id", namespaces.collect()),
        ];
        for (column, keys) in lists.into_iter().filter(|(_, keys)| !keys.is_empty()) {
            let first = values.len() + 1;
            values.extend(keys);
            let places = (first..=values.len()).map(|number| format!("${number}"));
            let places = places.collect::<Vec<_>>().join(", ");
            condition.push_str(&format!(
                " AND (run.{column} IS NULL OR run.{column} NOT IN ({places}))"
            ));
        }
        condition
    }
}

/// The order in which nodes take waiting runs.
const ORDER: &str = "run.priority DESC, run.available_at, run.id";

impl Store {
    /// The waiting runs that may start, locked until the transaction ends: highest priority first,
    /// and longest waiting first among equals. Of each group, only as many runs are included as the
    /// group has room for, so that others of its runs do not block other groups.
    /// [`Store::lock_room`] checks whether the room still exists.
    pub async fn lock_waiting_runs(
        &self,
        tx: &DatabaseTransaction,
        taker: RunTaker<'_>,
        now: Timestamp,
        limit: u64,
    ) -> Result<Vec<WaitingRun>, StoreError> {
        let dialect = self.dialect();
        let tags = serde_json::json!(taker.tags).to_string();
        let mut values: Vec<Value> =
            vec![now.0.into(), limit.cast_signed().into(), taker.node.into(), tags.into()];
        let without = taker.without.condition(&mut values);
        let may_start = format!(
            "run.state IN ('queued', 'retrying') AND run.available_at <= $1{} \
               AND (run.runs_on IS NULL OR {}){without}",
            dialect.live_runs("run.id", now),
            dialect.list_within("run.runs_on", "$4"),
        );
        let what = |from: &str| {
            format!(
                "SELECT run.id, run.schedule_id, s.name AS schedule, \
                   s.version AS schedule_version, n.name AS namespace, run.namespace_id, \
                   run.workflow_id, run.workflow_version, run.trigger, run.scheduled_at, \
                   run.due_at, run.started_at, run.attempt, run.max_attempts, run.epoch, \
                   run.context, run.idempotency_key, run.group_id, run.runs_on, \
                   run.available_at, run.priority, s.start_deadline_ms, s.jitter_ms \
                 FROM {from} JOIN namespace n ON n.id = run.namespace_id \
                 LEFT JOIN schedule s ON s.id = run.schedule_id \
                 WHERE EXISTS (SELECT 1 FROM node WHERE node.id = $3 AND node.state = 'alive')"
            )
        };
        let sql = format!(
            "{} AND {may_start} AND run.group_id IS NULL ORDER BY {ORDER} LIMIT $2 {}",
            what("run"),
            dialect.skip_locked("run")
        );
        let statement = dialect.statement(sql, values.clone());
        let mut waiting = WaitingRun::find_by_statement(statement).all(tx).await?;
        if self.is_any_grouped(tx, now).await? {
            let next = dialect.first_of_each(
                "run",
                &format!("run.group_id = room.id AND run.group_id IS NOT NULL AND {may_start}"),
                ORDER,
                "room.free",
                "$2",
            );
            let sql = format!(
                "WITH RECURSIVE {} {} AND room.free > 0",
                room(dialect, now),
                what(&format!("room {next}"))
            );
            let statement = dialect.statement(sql, values);
            waiting.extend(WaitingRun::find_by_statement(statement).all(tx).await?);
            waiting.sort_by_key(|run| (Reverse(run.priority), run.available_at.0, run.id));
            waiting.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        }
        Ok(waiting)
    }

    /// Whether a run of any group waits. In most rounds none does, and planning the query for those
    /// that may start would take PostgreSQL longer than the rest of the round.
    async fn is_any_grouped<C: ConnectionTrait>(
        &self,
        connection: &C,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = format!(
            "SELECT {} IS NOT NULL AS found",
            first_group("", &self.dialect().live_runs("run.id", now))
        );
        let row = connection.query_one_raw(self.dialect().statement(sql, [])).await?;
        Ok(row.map(|row| row.try_get("", "found")).transpose()?.unwrap_or_default())
    }

    /// When the next run may start that is not yet due at
    /// `now`, among those for a node with these tags.
    pub async fn next_available(
        &self,
        tags: &[String],
        now: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        #[derive(FromQueryResult)]
        struct Next {
            next: Option<i64>,
        }
        let tags = serde_json::json!(tags).to_string();
        let sql = format!(
            "SELECT min(run.available_at) AS next FROM run \
             WHERE run.state IN ('queued', 'retrying') AND run.available_at > $1 \
               AND (run.runs_on IS NULL OR {}){}",
            self.dialect().list_within("run.runs_on", "$2"),
            self.dialect().live_runs("run.id", now)
        );
        let statement = self.dialect().statement(sql, [now.0.into(), tags.into()]);
        let row = Next::find_by_statement(statement).one(self.rounds()).await?;
        Ok(row.and_then(|row| row.next).map(Timestamp))
    }

    /// The runs that still wait at `now`, among those for a node with these tags.
    pub async fn backlog(&self, tags: &[String], now: Timestamp) -> Result<Backlog, StoreError> {
        #[derive(FromQueryResult)]
        struct Free {
            free: Option<i64>,
        }
        #[derive(Default, FromQueryResult)]
        struct Grouped {
            grouped: Option<i64>,
            held: bool,
        }
        let alive = self.dialect().live_runs("run.id", now);
        let tags = serde_json::json!(tags).to_string();
        let fits = |tags| {
            format!("(run.runs_on IS NULL OR {})", self.dialect().list_within("run.runs_on", tags))
        };
        let sql = format!(
            "SELECT min(run.available_at) AS free FROM run \
             WHERE run.state IN ('queued', 'retrying') AND run.group_id IS NULL AND {}{alive}",
            fits("$1")
        );
        let statement = self.dialect().statement(sql, [tags.clone().into()]);
        let free = Free::find_by_statement(statement).one(self.rounds()).await?;
        let mut of_groups = Grouped::default();
        if self.is_any_grouped(self.rounds(), now).await? {
            let room = room(self.dialect(), now);
            let waits = format!("{GROUPED} AND {}{alive}", fits("$2"));
            let sql = format!(
                "WITH RECURSIVE {room}, due AS MATERIALIZED (SELECT room.free FROM room \
                   WHERE (SELECT 1 FROM run WHERE run.group_id = room.id AND {waits} \
                     AND run.available_at <= $1 ORDER BY {ORDER} LIMIT 1) IS NOT NULL) \
                 SELECT CASE WHEN EXISTS (SELECT 1 FROM due WHERE free > 0) THEN $1 \
                   ELSE (SELECT min(run.available_at) FROM run WHERE {waits} \
                     AND run.available_at > $1) END AS grouped, \
                   EXISTS (SELECT 1 FROM due) AS held"
            );
            let statement = self.dialect().statement(sql, [now.0.into(), tags.into()]);
            of_groups =
                Grouped::find_by_statement(statement).one(self.rounds()).await?.unwrap_or_default();
        }
        let next = [free.and_then(|row| row.free), of_groups.grouped].into_iter().flatten().min();
        Ok(Backlog { next: next.map(Timestamp), grouped: of_groups.held })
    }
}
