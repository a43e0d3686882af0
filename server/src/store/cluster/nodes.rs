//! The lives and heartbeats of nodes, by the database's clock.

use std::time::Duration;

use entity::{
    Strings, Timestamp,
    node::{self, BeatsIn},
};
use sea_orm::{
    ActiveEnum, ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, QueryFilter,
    QuerySelect,
};
use uuid::Uuid;

use super::silence::ms;
use crate::store::{DatabaseTransaction, Store, StoreError};

/// The data of a node that joins the cluster.
#[derive(Clone, Debug, Default)]
pub struct JoiningNode {
    /// The key of the node's new life.
    pub id: Uuid,
    /// The name by which operators know the node.
    pub name: String,
    /// The version of the Carillon program.
    pub version: String,
    /// The release of the node's zone data.
    pub zone_data: String,
    /// A text that identifies the process on its machine; empty if the system does not provide one.
    pub process: String,
    /// The node's roles.
    pub roles: Vec<String>,
    /// The node's tags, which runs can require.
    pub tags: Vec<String>,
    /// Maximum number of runs that the node executes at once.
    pub capacity: i32,
    /// How far the node's clock is ahead of the database's.
    pub clock_offset_ms: i64,
    /// Where the node's heartbeats are written.
    pub beats_in: BeatsIn,
}

/// Whether a node may continue after its heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeatOutcome {
    /// The node may continue. The time is that of the database's clock.
    Alive(Timestamp),
    /// The node was declared dead, so other nodes may hold its work by now.
    Lost,
}

/// The payload of a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beat {
    /// Number of runs that the node holds.
    pub held: i32,
    /// How far the node's clock was ahead of the database's at the last comparison.
    pub clock_offset_ms: i64,
    /// Why the node cannot reach Redis, if it is configured to use it.
    pub redis_problem: Option<String>,
}

/// The period before the start of a node during which no scheduler may have been running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct SchedulerGap {
    /// When another scheduler was last seen, if one ever was.
    pub last_before: Option<Timestamp>,
    /// When this node started.
    pub started_at: Timestamp,
}

impl Store {
    /// When a node started, and when another scheduler was last seen.
    /// `None` if the table cannot tell, because heartbeats in Redis leave no trace in it.
    pub async fn scheduler_gap(
        &self,
        tx: &DatabaseTransaction,
        node: Uuid,
    ) -> Result<Option<SchedulerGap>, StoreError> {
        let roles = if self.dialect().is_postgres() { "o.roles::text" } else { "o.roles" };
        let sql = format!(
            "SELECT n.started_at, (SELECT max(CASE WHEN o.state = 'left' AND o.ended_at IS NOT NULL \
               THEN o.ended_at ELSE o.heartbeat_at END) FROM node o \
               WHERE o.id <> n.id AND {roles} LIKE '%scheduler%') AS last_before \
             FROM node n WHERE n.id = $1 \
               AND NOT EXISTS (SELECT 1 FROM node r WHERE r.beats_in = 'redis')"
        );
        let statement = self.dialect().statement(sql, [node.into()]);
        Ok(SchedulerGap::find_by_statement(statement).one(tx).await?)
    }
}

/// A life that has not ended, and how long it has been silent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivingNode {
    /// The node's row.
    pub node: node::Model,
    /// The time since the node's last heartbeat.
    pub silence: Duration,
    /// The number of the node's last heartbeat in Redis.
    pub beat: Option<u64>,
    /// When a heartbeat was last written to the node's row.
    pub written_at: Timestamp,
    /// The time on the database's clock when the row was read.
    pub read_at: Timestamp,
}

impl LivingNode {
    /// Whether the node's silence proves that its life is over.
    /// If its heartbeats do not go into its row, the row alone proves nothing:
    /// the node must also have left a doubt unanswered for as long as the expiry.
    pub fn is_over(&self, expiry: Duration) -> bool {
        let unanswered = |doubted: Timestamp| self.read_at.0.saturating_sub(doubted.0) > ms(expiry);
        self.silence > expiry
            && match self.node.beats_in {
                BeatsIn::Database => true,
                BeatsIn::Redis => self.node.doubted_at.is_some_and(unanswered),
            }
    }

    /// The age of the last heartbeat in the node's row.
    pub fn row_age(&self) -> Duration {
        let age = self.read_at.0.saturating_sub(self.written_at.0);
        Duration::from_millis(u64::try_from(age).unwrap_or(0))
    }
}

/// The user who drained a node, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drain {
    /// The name of the user who drained the node.
    pub by: String,
    /// The reason, in the user's words.
    pub reason: String,
}

impl Store {
    /// Begins a new life under the node's name. Earlier lives under that name end.
    pub async fn join(&self, node: &JoiningNode) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        let (now, stamp) = (self.dialect().now(), self.dialect().stamp("node"));
        let sql = format!(
            "UPDATE node SET state = 'dead', ended_at = {now}, changed = {stamp} \
             WHERE name = $1 AND state = 'alive'"
        );
        tx.execute_raw(self.dialect().statement(sql, [node.name.clone().into()])).await?;
        // A process that begins a new life because it was declared dead remains drained.
        let before = |column: &str| {
            format!(
                "(SELECT n.{column} FROM node n WHERE n.name = $2 AND n.process = $6 \
                   AND n.process <> '' ORDER BY n.incarnation DESC LIMIT 1)"
            )
        };
        let sql = format!(
            "INSERT INTO node (id, name, incarnation, state, version, zone_data, schema, process, \
               roles, tags, capacity, held, clock_offset_ms, beats_in, started_at, heartbeat_at, \
               changed, drained_at, drained_by, drain_reason) \
             SELECT $1, $2, coalesce((SELECT max(incarnation) FROM node WHERE name = $2), 0) + 1, \
               'alive', $3, $4, $5, $6, $7, $8, $9, 0, $10, $11, {now}, {now}, {stamp}, \
               {}, {}, {}",
            before("drained_at"),
            before("drained_by"),
            before("drain_reason")
        );
        let values = [
            node.id.into(),
            node.name.clone().into(),
            node.version.clone().into(),
            node.zone_data.clone().into(),
            Self::latest_migration().into(),
            node.process.clone().into(),
            Strings(node.roles.clone()).into(),
            Strings(node.tags.clone()).into(),
            node.capacity.into(),
            node.clock_offset_ms.into(),
            node.beats_in.to_value().into(),
        ];
        tx.execute_raw(self.dialect().statement(sql, values)).await?;
        self.commit(tx).await
    }

    /// Writes a heartbeat to the node's row, unless the node was declared dead. This answers every
    /// doubt. It does not wake followers of the nodes, which read the row a moment later.
    pub async fn beat_if_alive(&self, node: Uuid, beat: Beat) -> Result<BeatOutcome, StoreError> {
        #[derive(FromQueryResult)]
        struct HeartbeatRow {
            heartbeat_at: Timestamp,
        }
        let tx = self.begin_heartbeat().await?;
        let sql = format!(
            "UPDATE node SET heartbeat_at = {}, held = $2, clock_offset_ms = $3, \
               redis_problem = $4, doubted_at = NULL, changed = {} \
             WHERE id = $1 AND state = 'alive' RETURNING heartbeat_at",
            self.dialect().now(),
            self.dialect().stamp("node")
        );
        let values =
            [node.into(), beat.held.into(), beat.clock_offset_ms.into(), beat.redis_problem.into()];
        let row =
            HeartbeatRow::find_by_statement(self.dialect().statement(sql, values)).one(&tx).await?;
        self.commit_unseen(tx).await?;
        Ok(row.map_or(BeatOutcome::Lost, |row| BeatOutcome::Alive(row.heartbeat_at)))
    }

    /// The lives that have not ended, sorted by name, including those that have long been silent.
    pub async fn living_nodes(&self) -> Result<Vec<LivingNode>, StoreError> {
        self.living_nodes_by(self.read()).await
    }

    /// The lives that have not ended, read through the caller's connection.
    pub(crate) async fn living_nodes_by<C: ConnectionTrait>(
        &self,
        connection: &C,
    ) -> Result<Vec<LivingNode>, StoreError> {
        #[derive(FromQueryResult)]
        struct LivingRow {
            #[sea_orm(nested)]
            node: node::Model,
            read_at: Timestamp,
        }
        let sql = format!(
            "SELECT node.*, {} AS read_at FROM node \
             WHERE node.state = 'alive' ORDER BY node.name",
            self.dialect().now()
        );
        let rows = LivingRow::find_by_statement(self.dialect().statement(sql, []));
        let living = |row: LivingRow| {
            let LivingRow { node, read_at } = row;
            let written_at = node.heartbeat_at;
            let mut living =
                LivingNode { node, silence: Duration::ZERO, beat: None, written_at, read_at };
            living.silence = living.row_age();
            living
        };
        Ok(rows.all(connection).await?.into_iter().map(living).collect())
    }

    /// The row of one life.
    pub async fn node(&self, id: Uuid) -> Result<Option<node::Model>, StoreError> {
        Ok(node::Entity::find_by_id(id).one(self.read()).await?)
    }

    /// Records that the node only finishes the work that it holds, and releases its leases.
    pub async fn drain(&self, node: Uuid) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        let (now, stamp) = (self.dialect().now(), self.dialect().stamp("node"));
        let sql = format!(
            "UPDATE node SET draining_at = {now}, changed = {stamp} \
             WHERE id = $1 AND draining_at IS NULL"
        );
        tx.execute_raw(self.dialect().statement(sql, [node.into()])).await?;
        let sql = format!("UPDATE lease SET until_at = {now} - 1 WHERE holder = $1");
        tx.execute_raw(self.dialect().statement(sql, [node.into()])).await?;
        self.commit(tx).await
    }

    /// Starts or ends a node's drain, which also releases its leases.
    /// Returns the node's previous row if it is alive.
    pub async fn set_drain_if_alive(
        &self,
        tx: &DatabaseTransaction,
        id: Uuid,
        drain: Option<&Drain>,
    ) -> Result<Option<node::Model>, StoreError> {
        let living = node::Entity::find_by_id(id)
            .filter(node::Column::State.eq(node::State::Alive))
            .lock_exclusive();
        let Some(before) = living.one(tx).await? else { return Ok(None) };
        let (now, stamp) = (self.dialect().now(), self.dialect().stamp("node"));
        let at = if drain.is_some() {
            format!("coalesce(drained_at, {now})")
        } else {
            "NULL".to_owned()
        };
        let sql = format!(
            "UPDATE node SET drained_at = {at}, drained_by = $2, drain_reason = $3, \
               changed = {stamp} WHERE id = $1"
        );
        let by = drain.map(|drain| drain.by.clone());
        let reason = drain.map(|drain| drain.reason.clone());
        let values = [id.into(), by.into(), reason.into()];
        tx.execute_raw(self.dialect().statement(sql, values)).await?;
        if drain.is_some() {
            let sql = format!("UPDATE lease SET until_at = {now} - 1 WHERE holder = $1");
            tx.execute_raw(self.dialect().statement(sql, [id.into()])).await?;
        }
        Ok(Some(before))
    }

    /// Ends the node's life in good order.
    pub async fn leave(&self, node: Uuid) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        let (now, stamp) = (self.dialect().now(), self.dialect().stamp("node"));
        let sql = format!(
            "UPDATE node SET state = 'left', ended_at = {now}, changed = {stamp} \
             WHERE id = $1 AND state = 'alive'"
        );
        tx.execute_raw(self.dialect().statement(sql, [node.into()])).await?;
        self.commit(tx).await
    }
}
