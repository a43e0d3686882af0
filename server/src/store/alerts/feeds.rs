//! Reads failures from a cursor on.
//!
//! Runs and nodes carry stamps of the change feed, so a cursor over them skips nothing
//! (`store::changes`). Fires have no stamps. Those that were not run are read again,
//! from the time of their verdict, for as long as a transaction can be open.
//! The unique key of alerts makes sure that each fire is recorded once.
//!
//! While no rule is enabled, nothing is read, and the cursors stay where they are.
//! The creation of the first rule moves them to the ends of their feeds.

use entity::{Timestamp, alert_cursor};
use sea_orm::{
    ColumnTrait, EntityTrait, FromQueryResult, QueryFilter, Set,
    sea_query::{Expr, OnConflict},
};
use uuid::Uuid;

use crate::store::{Cursor, DatabaseTransaction, Store, StoreError, reads};

/// The feeds of events that can be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// Runs that failed.
    Failures,
    /// Runs that started late.
    Late,
    /// Fires that were not run.
    Missed,
    /// Nodes that were lost.
    Nodes,
    /// Runs of schedules with a ping. Only `store::pings` reads this feed; rules do not.
    Pings,
}

impl Feed {
    /// The feeds that alert rules need.
    pub const ALL: [Self; 4] = [Self::Failures, Self::Late, Self::Missed, Self::Nodes];

    fn name(self) -> &'static str {
        match self {
            Self::Failures => "failures",
            Self::Late => "late",
            Self::Missed => "missed",
            Self::Nodes => "nodes",
            Self::Pings => "pings",
        }
    }
}

/// A run that failed or started late.
#[derive(Clone, Debug, FromQueryResult)]
pub struct BadRun {
    /// The key of the run.
    pub id: Uuid,
    /// The namespace of the run.
    pub namespace_id: Uuid,
    /// The schedule of the run.
    pub schedule_id: Uuid,
    /// The run's error, if it failed.
    pub error: Option<String>,
    /// When the run was due.
    pub due_at: Timestamp,
    /// When the run started.
    pub started_at: Option<Timestamp>,
    /// When the run settled.
    pub finished_at: Option<Timestamp>,
    /// The run's position in the feed.
    pub changed: i64,
}

impl BadRun {
    /// The run's position in the feed.
    pub fn cursor(&self) -> Cursor {
        Cursor { changed: self.changed, id: self.id }
    }
}

/// Fires that were not run: a single one, or a range with the same verdict.
#[derive(Clone, Debug, FromQueryResult)]
pub struct LostFire {
    /// The key of the row in the ledger.
    pub id: Uuid,
    /// The namespace of the fires.
    pub namespace_id: Uuid,
    /// The schedule of the fires.
    pub schedule_id: Uuid,
    /// The instant of the first fire.
    pub scheduled_at: Timestamp,
    /// Number of fires.
    pub count: i64,
    /// The reason, by the word that the ledger stores.
    pub reason: String,
    /// When the verdict was decided.
    pub decided_at: Timestamp,
}

/// A node that was lost.
#[derive(Clone, Debug, FromQueryResult)]
pub struct LostNode {
    /// The key of the node's life.
    pub id: Uuid,
    /// The node's name.
    pub name: String,
    /// When the node was declared dead.
    pub ended_at: Timestamp,
    /// The node's position in the feed.
    pub changed: i64,
    /// Whether another life with the same name has begun.
    pub is_back: bool,
}

/// The cursor of a feed; `None` if it was never read.
pub async fn cursor(store: &Store, feed: Feed) -> Result<Option<Cursor>, StoreError> {
    let row = alert_cursor::Entity::find_by_id(feed.name()).one(store.read()).await?;
    Ok(row.map(|row| Cursor { changed: row.changed, id: row.key }))
}

/// The ends of the feeds at `now`. Later events come after them.
pub async fn ends(store: &Store, now: Timestamp) -> Result<[(Feed, Cursor); 4], StoreError> {
    let runs = reads::feed::end_of_runs(store).await?;
    let nodes = reads::feed::end_of_nodes(store).await?;
    Ok(Feed::ALL.map(|feed| {
        let end = match feed {
            Feed::Failures | Feed::Late | Feed::Pings => runs,
            Feed::Nodes => nodes,
            Feed::Missed => Cursor { changed: now.0, id: Uuid::nil() },
        };
        (feed, end)
    }))
}

/// Creates the cursors of feeds that have none. All cursors are locked until the transaction ends.
pub async fn begin(tx: &DatabaseTransaction, at: &[(Feed, Cursor)]) -> Result<(), StoreError> {
    let rows = at.iter().map(|(feed, at)| alert_cursor::ActiveModel {
        feed: Set(feed.name().to_owned()),
        changed: Set(at.changed),
        key: Set(at.id),
    });
    let column = alert_cursor::Column::Feed;
    alert_cursor::Entity::insert_many(rows)
        .on_conflict(OnConflict::column(column).update_column(column).to_owned())
        .exec_without_returning(tx)
        .await?;
    Ok(())
}

/// Moves the cursors of these feeds to new positions.
pub async fn restart(tx: &DatabaseTransaction, at: &[(Feed, Cursor)]) -> Result<(), StoreError> {
    use alert_cursor::Column;
    for (feed, at) in at {
        alert_cursor::Entity::update_many()
            .col_expr(Column::Changed, Expr::value(at.changed))
            .col_expr(Column::Key, Expr::value(at.id))
            .filter(Column::Feed.eq(feed.name()))
            .exec(tx)
            .await?;
    }
    Ok(())
}

/// Stops the reading of a feed.
pub async fn stop(tx: &DatabaseTransaction, feed: Feed) -> Result<(), StoreError> {
    alert_cursor::Entity::delete_by_id(feed.name()).exec(tx).await?;
    Ok(())
}

/// Moves the cursor of a feed if it is still at `from`.
pub async fn move_if_at(
    tx: &DatabaseTransaction,
    feed: Feed,
    from: Cursor,
    to: Cursor,
) -> Result<bool, StoreError> {
    use alert_cursor::Column;
    let moved = alert_cursor::Entity::update_many()
        .col_expr(Column::Changed, Expr::value(to.changed))
        .col_expr(Column::Key, Expr::value(to.id))
        .filter(Column::Feed.eq(feed.name()))
        .filter(Column::Changed.eq(from.changed))
        .filter(Column::Key.eq(from.id))
        .exec(tx)
        .await?;
    Ok(moved.rows_affected == 1)
}

const RUN: &str = "SELECT run.id, run.namespace_id, run.schedule_id, run.error, run.due_at, \
    run.started_at, run.finished_at, run.changed FROM run";

/// Failed runs of schedules, in feed order.
/// Runs of backfills are left out, because the users who requested them watch them.
pub async fn failures(store: &Store, after: Cursor, limit: u64) -> Result<Vec<BadRun>, StoreError> {
    let condition = "run.state IN ('failed', 'timed_out') AND run.trigger <> 'backfill'";
    bad_runs(store, condition, after, limit).await
}

/// Runs of schedules that started more than a minute late.
pub async fn late(store: &Store, after: Cursor, limit: u64) -> Result<Vec<BadRun>, StoreError> {
    let condition = "run.started_at > run.due_at + 60000 AND run.trigger = 'schedule'";
    bad_runs(store, condition, after, limit).await
}

async fn bad_runs(
    store: &Store,
    condition: &str,
    after: Cursor,
    limit: u64,
) -> Result<Vec<BadRun>, StoreError> {
    let horizon = store.dialect().horizon();
    let sql = format!(
        "{RUN} WHERE {condition} AND run.schedule_id IS NOT NULL \
           AND (run.changed, run.id) > ($1, $2) AND run.changed < {horizon} \
         ORDER BY run.changed, run.id LIMIT $3"
    );
    let values = [after.changed.into(), after.id.into(), limit.cast_signed().into()];
    let rows = BadRun::find_by_statement(store.dialect().statement(sql, values));
    Ok(rows.all(store.read()).await?)
}

/// Fires that were not run, by the time of their verdict, from `after` on.
pub async fn missed(store: &Store, after: Cursor, limit: u64) -> Result<Vec<LostFire>, StoreError> {
    let sql = "SELECT fire.id, fire.namespace_id, fire.schedule_id, fire.scheduled_at, fire.count, \
           fire.reason, fire.decided_at FROM fire \
         WHERE fire.verdict IN ('missed', 'abandoned') AND fire.decided_at >= $1 \
           AND (fire.decided_at, fire.id) > ($1, $2) \
         ORDER BY fire.decided_at, fire.id LIMIT $3";
    let values = [after.changed.into(), after.id.into(), limit.cast_signed().into()];
    let rows = LostFire::find_by_statement(store.dialect().statement(sql, values));
    Ok(rows.all(store.read()).await?)
}

/// Nodes that were declared dead, in the order of the feed.
pub async fn nodes(store: &Store, after: Cursor, limit: u64) -> Result<Vec<LostNode>, StoreError> {
    let horizon = store.dialect().horizon();
    let sql = format!(
        "SELECT node.id, node.name, node.ended_at, node.changed, EXISTS (SELECT 1 FROM node n \
           WHERE n.name = node.name AND n.state = 'alive') AS is_back \
         FROM node WHERE node.state = 'dead' AND node.ended_at IS NOT NULL \
           AND (node.changed, node.id) > ($1, $2) AND node.changed < {horizon} \
         ORDER BY node.changed, node.id LIMIT $3"
    );
    let values = [after.changed.into(), after.id.into(), limit.cast_signed().into()];
    let rows = LostNode::find_by_statement(store.dialect().statement(sql, values));
    Ok(rows.all(store.read()).await?)
}
