//! The nodes' lives and heartbeats, on the database's clock.

use std::time::Duration;

use entity::{Strings, Timestamp, node};
use sea_orm::{ConnectionTrait, EntityTrait, FromQueryResult};
use uuid::Uuid;

use super::{DatabaseTransaction, Store, StoreError};

/// What a node says of itself when it joins.
#[derive(Clone, Debug, Default)]
pub struct Joining {
    /// Key of this life.
    pub id: Uuid,
    /// The name that the operator knows.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Version of its zone data.
    pub zone_data: String,
    /// The process, as its machine tells it from others; empty where it does not.
    pub process: String,
    /// What it does.
    pub roles: Vec<String>,
    /// What runs may ask of it.
    pub tags: Vec<String>,
    /// How many runs it takes at once.
    pub capacity: i32,
    /// How far its clock is ahead of the database's.
    pub clock_offset_ms: i64,
}

/// Whether a node may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// It may. What the database's clock showed.
    Alive(Timestamp),
    /// It was declared dead: what it held may be another's by now.
    Lost,
}

/// What a node says of itself with each beat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beat {
    /// How many runs it holds.
    pub held: i32,
    /// How far its clock was ahead of the database's when that was looked at last.
    pub clock_offset_ms: i64,
}

/// A life that nobody has ended, with how long it has been silent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Living {
    /// Its row.
    pub node: node::Model,
    /// Since its last heartbeat.
    pub silence: Duration,
}

impl Store {
    /// Begins a new life of the node's name. Its earlier lives are over: whoever bears the name
    /// now says so.
    pub async fn join(&self, node: &Joining) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        let now = self.dialect().now();
        let sql = format!(
            "UPDATE node SET state = 'dead', ended_at = {now} \
             WHERE name = $1 AND state = 'alive'"
        );
        tx.execute_raw(self.dialect().statement(sql, [node.name.clone().into()])).await?;
        let sql = format!(
            "INSERT INTO node (id, name, incarnation, state, version, zone_data, schema, process, \
               roles, tags, capacity, held, clock_offset_ms, started_at, heartbeat_at) \
             SELECT $1, $2, coalesce((SELECT max(incarnation) FROM node WHERE name = $2), 0) + 1, \
               'alive', $3, $4, $5, $6, $7, $8, $9, 0, $10, {now}, {now}"
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
        ];
        tx.execute_raw(self.dialect().statement(sql, values)).await?;
        self.commit(tx).await
    }

    /// Says that the node is alive, unless it was declared dead.
    pub async fn beat_if_alive(&self, node: Uuid, beat: Beat) -> Result<Heartbeat, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            heartbeat_at: Timestamp,
        }
        let tx = self.begin().await?;
        let sql = format!(
            "UPDATE node SET heartbeat_at = {}, held = $2, clock_offset_ms = $3 \
             WHERE id = $1 AND state = 'alive' RETURNING heartbeat_at",
            self.dialect().now()
        );
        let values = [node.into(), beat.held.into(), beat.clock_offset_ms.into()];
        let row = Row::find_by_statement(self.dialect().statement(sql, values)).one(&tx).await?;
        self.commit_unseen(tx).await?;
        Ok(row.map_or(Heartbeat::Lost, |row| Heartbeat::Alive(row.heartbeat_at)))
    }

    /// Whether another process lives under that name: one that was heard of within `expiry`.
    pub async fn has_namesake(
        &self,
        own: Uuid,
        name: &str,
        expiry: Duration,
    ) -> Result<bool, StoreError> {
        let living = self.living_nodes().await?;
        let mut others = living.iter().filter(|other| other.node.id != own);
        Ok(others.any(|other| other.node.name == name && other.silence <= expiry))
    }

    /// The lives that nobody has ended, by name; also those that have been silent for long.
    pub async fn living_nodes(&self) -> Result<Vec<Living>, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            #[sea_orm(nested)]
            node: node::Model,
            silent_ms: i64,
        }
        let sql = format!(
            "SELECT node.*, {} - node.heartbeat_at AS silent_ms FROM node \
             WHERE node.state = 'alive' ORDER BY node.name",
            self.dialect().now()
        );
        let rows = Row::find_by_statement(self.dialect().statement(sql, []));
        let living = |row: Row| {
            let silence = Duration::from_millis(u64::try_from(row.silent_ms).unwrap_or(0));
            Living { node: row.node, silence }
        };
        Ok(rows.all(self.read()).await?.into_iter().map(living).collect())
    }

    /// One life.
    pub async fn node(&self, id: Uuid) -> Result<Option<node::Model>, StoreError> {
        Ok(node::Entity::find_by_id(id).one(self.read()).await?)
    }

    /// Says that the node only brings to an end what it holds, and gives up its leases.
    pub async fn drain(&self, node: Uuid) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        let now = self.dialect().now();
        let sql =
            format!("UPDATE node SET draining_at = {now} WHERE id = $1 AND draining_at IS NULL");
        tx.execute_raw(self.dialect().statement(sql, [node.into()])).await?;
        let sql = format!("UPDATE lease SET until_at = {now} - 1 WHERE holder = $1");
        tx.execute_raw(self.dialect().statement(sql, [node.into()])).await?;
        self.commit(tx).await
    }

    /// Ends the node's life in good order.
    pub async fn leave(&self, node: Uuid) -> Result<(), StoreError> {
        let tx = self.begin().await?;
        let now = self.dialect().now();
        let sql = format!(
            "UPDATE node SET state = 'left', ended_at = {now} WHERE id = $1 AND state = 'alive'"
        );
        tx.execute_raw(self.dialect().statement(sql, [node.into()])).await?;
        self.commit(tx).await
    }

    /// Declares dead the other nodes whose heartbeat is older than `expiry`, and says which. Not
    /// `own`: after a suspension or a step of the clock it may look before its heart beats again.
    pub async fn expire_other_nodes(
        &self,
        tx: &DatabaseTransaction,
        own: Uuid,
        expiry: Duration,
    ) -> Result<Vec<Uuid>, StoreError> {
        #[derive(FromQueryResult)]
        struct Row {
            id: Uuid,
        }
        let now = self.dialect().now();
        let sql = format!(
            "UPDATE node SET state = 'dead', ended_at = {now} \
             WHERE state = 'alive' AND heartbeat_at < {now} - $1 AND id <> $2 RETURNING id"
        );
        let expiry = i64::try_from(expiry.as_millis()).unwrap_or(i64::MAX);
        let statement = self.dialect().statement(sql, [expiry.into(), own.into()]);
        let rows = Row::find_by_statement(statement).all(tx).await?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }
}
