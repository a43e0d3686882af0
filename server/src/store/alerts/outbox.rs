//! The messages about alerts that are to be sent.
//!
//! A node first takes a message: a separate transaction counts the attempt
//! and postpones the next one. So no other node sends the message in the meantime,
//! and if the node dies, the message is sent again later.

use entity::{
    Timestamp,
    notification::{ActiveModel, Column, Entity, Model, State},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    prelude::Json, sea_query::Expr,
};
use uuid::Uuid;

use crate::store::{
    Page, PageWindow, Store, StoreError,
    db::{page::page_descending, within::Within},
};

/// The outcome of an attempt to send a message.
#[derive(Clone, Debug)]
pub struct DeliveryOutcome {
    /// The key of the message.
    pub id: Uuid,
    /// The channel of the message.
    pub channel_id: Uuid,
    /// The number of the attempt.
    pub attempts: i32,
    /// Whether the attempt counts towards the maximum number.
    pub counts: bool,
    /// The message's new state.
    pub state: State,
    /// The earliest time of the next attempt.
    pub next_attempt_at: Timestamp,
    /// Why the attempt failed.
    pub error: Option<String>,
    /// Which recipients of a mail have accepted or refused it, and which of its requests a receiver
    /// has accepted.
    pub progress: Option<Json>,
    /// Whether the channel's other messages must wait as long as this one.
    pub holds_up: bool,
}

/// Adds messages to be sent.
pub async fn add<C: ConnectionTrait>(tx: &C, rows: Vec<ActiveModel>) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    Entity::insert_many(rows).exec_without_returning(tx).await?;
    Ok(())
}

/// When the next message may be sent.
pub async fn next(store: &Store) -> Result<Option<Timestamp>, StoreError> {
    let query = Entity::find()
        .select_only()
        .column(Column::NextAttemptAt)
        .filter(Expr::cust("state = 'pending'"))
        .order_by_asc(Column::NextAttemptAt)
        .limit(1);
    Ok(query.into_tuple().one(store.read()).await?)
}

/// The messages that a node has taken.
#[derive(Debug)]
pub struct TakenMessages {
    /// The messages to send.
    pub messages: Vec<Model>,
    /// Number of messages that were given up because none of their attempts finished.
    pub given_up: u64,
}

/// Maximum number of messages per channel and per namespace that are taken at once.
/// So a channel with a long queue does not delay other channels or namespaces.
const OF_A_CHANNEL: i64 = 2;
const OF_A_NAMESPACE: i64 = 8;

/// Takes up to `limit` messages that are due at `now`; no other node takes them before `until`.
/// A message that is still pending after `most_attempts`
/// is given up: every node that took it has died.
pub async fn take(
    store: &Store,
    now: Timestamp,
    until: Timestamp,
    most_attempts: i32,
    limit: u64,
) -> Result<TakenMessages, StoreError> {
    let tx = store.begin().await?;
    let died = Expr::cust("coalesce(error, 'no attempt has ended')");
    let given_up = Entity::update_many()
        .col_expr(Column::State, Expr::value(State::Dead))
        .col_expr(Column::Error, died)
        .col_expr(Column::SettledAt, Expr::value(Some(now.0)))
        .filter(Expr::cust("state = 'pending'"))
        .filter(Column::NextAttemptAt.lte(now.0))
        .filter(Column::Attempts.gte(most_attempts))
        .exec(&tx)
        .await?
        .rows_affected;
    let sql = format!(
        "UPDATE notification SET attempts = attempts + 1, next_attempt_at = $2 \
         WHERE id IN (SELECT notification.id FROM notification JOIN ( \
             SELECT c.id, row_number() OVER (PARTITION BY c.namespace_id \
               ORDER BY c.place, c.next_attempt_at, c.id) AS place \
             FROM (SELECT n.id, n.namespace_id, n.next_attempt_at, \
                 row_number() OVER (PARTITION BY n.channel_id \
                   ORDER BY n.next_attempt_at, n.id) AS place \
               FROM notification n WHERE n.state = 'pending' AND n.next_attempt_at <= $1) c \
             WHERE c.place <= {OF_A_CHANNEL}) due ON due.id = notification.id \
           WHERE due.place <= {OF_A_NAMESPACE} AND notification.state = 'pending' \
             AND notification.next_attempt_at <= $1 \
           ORDER BY due.place, notification.next_attempt_at, notification.id LIMIT $3 {}) \
         RETURNING *",
        store.dialect().skip_locked("notification")
    );
    let values = [now.0.into(), until.0.into(), limit.cast_signed().into()];
    let statement = store.dialect().statement(sql, values);
    let messages = Entity::find().from_raw_sql(statement).all(&tx).await?;
    store.commit_unseen(tx).await?;
    Ok(TakenMessages { messages, given_up })
}

/// Writes the outcome of an attempt if no later attempt has been made.
pub async fn settle_if_last(
    store: &Store,
    sent: &DeliveryOutcome,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let settled = (sent.state != State::Pending).then_some(now.0);
    let tx = store.begin().await?;
    let written = Entity::update_many()
        .col_expr(Column::State, Expr::value(sent.state))
        .col_expr(Column::Attempts, Expr::value(sent.attempts - i32::from(!sent.counts)))
        .col_expr(Column::NextAttemptAt, Expr::value(sent.next_attempt_at.0))
        .col_expr(Column::Error, Expr::value(sent.error.clone()))
        .col_expr(Column::Progress, Expr::value(sent.progress.clone()))
        .col_expr(Column::SettledAt, Expr::value(settled))
        .filter(Column::Id.eq(sent.id))
        .filter(Column::Attempts.eq(sent.attempts))
        .filter(Column::State.eq(State::Pending))
        .exec(&tx)
        .await?;
    if sent.holds_up {
        // Rows that another transaction is writing are skipped, because
        // two such transactions would block each other.
        let sql = format!(
            "UPDATE notification SET next_attempt_at = $2 WHERE id IN (SELECT notification.id \
             FROM notification WHERE notification.state = 'pending' \
               AND notification.channel_id = $1 AND notification.next_attempt_at < $2 {})",
            store.dialect().skip_locked("notification")
        );
        let values = [sent.channel_id.into(), sent.next_attempt_at.0.into()];
        tx.execute_raw(store.dialect().statement(sql, values)).await?;
    }
    store.commit(tx).await?;
    Ok(written.rows_affected == 1)
}

/// Whether a test of this channel that was requested at `since` or later is still pending.
pub async fn is_being_tested<C: ConnectionTrait>(
    tx: &C,
    channel: Uuid,
    since: Timestamp,
) -> Result<bool, StoreError> {
    let query = Entity::find()
        .filter(Expr::cust("state = 'pending'"))
        .filter(Column::ChannelId.eq(channel))
        .filter(Column::RuleId.is_null())
        .filter(Column::CreatedAt.gte(since.0));
    Ok(query.one(tx).await?.is_some())
}

/// Sends a message again whose delivery was given up.
/// It starts with the first attempt, as if it were new, and also goes to the recipients who refused
/// it.
pub async fn revive<C: ConnectionTrait>(
    tx: &C,
    message: &Model,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let mut progress = message.progress.clone().unwrap_or_else(|| serde_json::json!({}));
    if let Some(progress) = progress.as_object_mut() {
        progress.remove("refused");
        progress.insert("revived_at".to_owned(), now.0.into());
    }
    let revived = Entity::update_many()
        .col_expr(Column::Progress, Expr::value(Some(progress)))
        .col_expr(Column::State, Expr::value(State::Pending))
        .col_expr(Column::Attempts, Expr::value(0))
        .col_expr(Column::NextAttemptAt, Expr::value(now.0))
        .col_expr(Column::SettledAt, Expr::value(Option::<i64>::None))
        .filter(Column::Id.eq(message.id))
        .filter(Column::State.eq(State::Dead))
        .exec(tx)
        .await?;
    Ok(revived.rows_affected == 1)
}

/// The message with this key.
pub async fn by_id<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(connection).await?)
}

/// A page of messages, newest first.
pub async fn page(
    store: &Store,
    within: &Within,
    state: Option<State>,
    window: &PageWindow<Uuid>,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .apply_if(state, |query, state| query.filter(Column::State.eq(state)));
    page_descending(store.read(), list, Column::Id, window).await
}
