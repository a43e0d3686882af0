//! The nodes' lives and heartbeats, on the database's clock.

use std::time::Duration;

use sea_orm::{ConnectionTrait, DatabaseTransaction, FromQueryResult};
use uuid::Uuid;

use super::{Store, StoreError};

/// What a node says of itself when it joins.
#[derive(Clone, Debug)]
pub struct Joining {
    /// Key of this life.
    pub id: Uuid,
    /// The name that the operator knows.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Version of its zone data.
    pub zone_data: String,
    /// How many runs it takes at once.
    pub capacity: i32,
}

/// Whether a node may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// It may.
    Alive,
    /// It was declared dead: what it held may be another's by now.
    Lost,
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
            "INSERT INTO node (id, name, incarnation, state, version, zone_data, capacity, \
               started_at, heartbeat_at) \
             SELECT $1, $2, coalesce((SELECT max(incarnation) FROM node WHERE name = $2), 0) + 1, \
               'alive', $3, $4, $5, {now}, {now}"
        );
        let values = [
            node.id.into(),
            node.name.clone().into(),
            node.version.clone().into(),
            node.zone_data.clone().into(),
            node.capacity.into(),
        ];
        tx.execute_raw(self.dialect().statement(sql, values)).await?;
        self.commit(tx).await
    }

    /// Says that the node is alive, unless it was declared dead.
    pub async fn beat_if_alive(&self, node: Uuid) -> Result<Heartbeat, StoreError> {
        let tx = self.begin().await?;
        let now = self.dialect().now();
        let sql = format!("UPDATE node SET heartbeat_at = {now} WHERE id = $1 AND state = 'alive'");
        let result = tx.execute_raw(self.dialect().statement(sql, [node.into()])).await?;
        self.commit_unseen(tx).await?;
        Ok(if result.rows_affected() > 0 { Heartbeat::Alive } else { Heartbeat::Lost })
    }

    /// Whether another process lives under that name.
    pub async fn has_namesake(&self, own: Uuid, name: &str) -> Result<bool, StoreError> {
        let sql = "SELECT id FROM node WHERE name = $1 AND state = 'alive' AND id <> $2 LIMIT 1";
        let statement = self.dialect().statement(sql, [name.into(), own.into()]);
        Ok(self.read().query_one_raw(statement).await?.is_some())
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
