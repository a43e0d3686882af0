//! Doubts about silent nodes, and the end of the lives of those that do not answer.

use std::time::Duration;

use entity::Timestamp;
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::store::{
    DatabaseTransaction, Store, StoreError,
    db::bulk::{BulkValues, returned_ids},
};

/// A doubt whether a node is still alive.
/// It is only for nodes whose heartbeats do not go into their rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeDoubt {
    /// The key of the node's life.
    pub node: Uuid,
    /// How long the node has already been silent. This part of its time to answer has passed.
    pub heard: Duration,
}

/// A life whose row had no new heartbeat for the length
/// of the expiry, as observed by a monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SilentNode {
    /// The key of the node's life.
    pub node: Uuid,
    /// The last heartbeat in the node's row.
    pub since: Timestamp,
    /// Whether the observer saw that heartbeat unchanged for the whole expiry.
    /// If so, the node is silent whatever the database's clock shows.
    pub is_watched: bool,
    /// Whether the node has left a doubt unanswered for as long as the expiry.
    pub is_unanswered: bool,
}

/// A node whose heartbeats do not go into its row is doubted after the expiry divided by this.
pub const DOUBTED_AFTER: u32 = 3;

impl Store {
    /// Records doubts, unless the row got a heartbeat within `silence`.
    /// Returns the number of new ones. A heartbeat that is further in the future than `silence` was
    /// written before the database's clock was stepped back.
    /// All nodes lock the rows in the same order, to prevent deadlocks.
    pub async fn doubt_if_silent(
        &self,
        doubts: &[NodeDoubt],
        silence: Duration,
    ) -> Result<u64, StoreError> {
        if doubts.is_empty() {
            return Ok(0);
        }
        let now = self.dialect().now();
        let sql = format!(
            "UPDATE node SET doubted_at = {now} - $3 WHERE id = $1 AND state = 'alive' \
               AND beats_in <> 'database' AND doubted_at IS NULL \
               AND (heartbeat_at <= {now} - $2 OR heartbeat_at > {now} + $2)"
        );
        let tx = self.begin_heartbeat().await?;
        let mut doubted = 0;
        for NodeDoubt { node, heard } in doubts {
            let values = [(*node).into(), ms(silence).into(), ms(*heard).into()];
            let done = tx.execute_raw(self.dialect().statement(sql.clone(), values)).await?;
            doubted += done.rows_affected();
        }
        if doubted > 0 {
            // A commit that followers see would notify all of them on all nodes.
            self.commit_unseen(tx).await?;
        } else {
            tx.rollback().await?;
        }
        Ok(doubted)
    }

    /// Declares dead those of the `silent` nodes whose rows still have the same heartbeat, and
    /// returns them. If a silence began before it was observed, the database's clock must confirm
    /// it. A node whose heartbeats go to Redis must also have left a doubt unanswered for as long:
    /// heartbeats in Redis can be lost, so their absence proves nothing. `own` is never declared
    /// dead: after a suspension or a step of the clock, this node may call this before it sends its
    /// next heartbeat.
    pub async fn expire_other_nodes(
        &self,
        tx: &DatabaseTransaction,
        own: Uuid,
        silent: &[SilentNode],
        expiry: Duration,
    ) -> Result<Vec<Uuid>, StoreError> {
        if silent.is_empty() {
            return Ok(Vec::new());
        }
        let (now, stamp) = (self.dialect().now(), self.dialect().stamp("node"));
        let sql = format!(
            "UPDATE node SET state = 'dead', ended_at = {now}, changed = {stamp} FROM v \
             WHERE node.id = v.silent AND node.heartbeat_at = v.since AND node.state = 'alive' \
               AND (v.watched = 1 OR node.heartbeat_at < {now} - {{0}}) AND node.id <> {{1}} \
               AND (node.beats_in = 'database' OR node.doubted_at < {now} - {{0}} \
                 OR (v.unanswered = 1 AND node.doubted_at IS NOT NULL)) \
             RETURNING node.id"
        );
        let statement = BulkValues::default()
            .uuid("silent", silent.iter().map(|other| other.node))
            .int("since", silent.iter().map(|other| other.since.0))
            .int("watched", silent.iter().map(|other| i64::from(other.is_watched)))
            .int("unanswered", silent.iter().map(|other| i64::from(other.is_unanswered)))
            .statement(self.dialect(), &sql, vec![ms(expiry).into(), own.into()]);
        Ok(returned_ids(tx, statement).await?.into_iter().collect())
    }
}

pub(super) fn ms(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
