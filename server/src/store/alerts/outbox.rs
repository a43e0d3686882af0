//! The messages on their way.
//!
//! Whoever sends one takes it first: the attempt is counted and the next one put off in a
//! transaction of its own, so no other sends it meanwhile, and one whose sender dies is sent again
//! when that time is over.

use entity::{
    Timestamp,
    notification::{ActiveModel, Column, Entity, Model, State},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    prelude::Json, sea_query::Expr,
};
use uuid::Uuid;

use crate::store::{Page, Store, StoreError, Window, db::within::Within};

/// How an attempt ended.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The message.
    pub id: Uuid,
    /// Its channel.
    pub channel_id: Uuid,
    /// The attempt.
    pub attempts: i32,
    /// Whether it was one: otherwise it does not count.
    pub counts: bool,
    /// Where it stands by that.
    pub state: State,
    /// Not to be tried before.
    pub next_attempt_at: Timestamp,
    /// Why it failed.
    pub error: Option<String>,
    /// Which recipients of a mail have it, or were refused.
    pub progress: Option<Json>,
    /// Whether the channel's other messages wait for as long.
    pub holds_up: bool,
}

/// Adds messages.
pub async fn add<C: ConnectionTrait>(tx: &C, rows: Vec<ActiveModel>) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    Entity::insert_many(rows).exec_without_returning(tx).await?;
    Ok(())
}

/// When the next message is to be sent.
pub async fn next(store: &Store) -> Result<Option<Timestamp>, StoreError> {
    let query = Entity::find()
        .select_only()
        .column(Column::NextAttemptAt)
        .filter(Expr::cust("state = 'pending'"))
        .order_by_asc(Column::NextAttemptAt)
        .limit(1);
    Ok(query.into_tuple().one(store.read()).await?)
}

/// What was taken.
#[derive(Debug)]
pub struct Taken {
    /// The messages.
    pub messages: Vec<Model>,
    /// How many were given up: none of their attempts came to an end.
    pub given_up: u64,
}

/// How many messages may be taken at once, so that a channel behind which many wait holds up
/// neither the others of its namespace nor other namespaces.
const OF_A_CHANNEL: i64 = 2;
const OF_A_NAMESPACE: i64 = 8;

/// Takes up to `limit` messages that are to be sent at `now`: until `until` nobody else does. What
/// has had `most_attempts` and is pending all the same is given up: whoever took it died each time.
pub async fn take(
    store: &Store,
    now: Timestamp,
    until: Timestamp,
    most_attempts: i32,
    limit: u64,
) -> Result<Taken, StoreError> {
    let tx = store.begin().await?;
    let died = Expr::cust("coalesce(error, 'no attempt came to an end')");
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
    Ok(Taken { messages, given_up })
}

/// Writes how an attempt ended, if it still is the last one.
pub async fn settle_if_last(
    store: &Store,
    sent: &Sent,
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
        // Rows that another transaction writes are passed over: two that wait for each other's
        // would be in each other's way.
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

/// Whether a test of that channel is on its way that was asked for since `since`.
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

/// Sends a message that was given up once more: from the first attempt on, and to those, too, who
/// were refused.
pub async fn revive<C: ConnectionTrait>(
    tx: &C,
    message: &Model,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let mut progress = message.progress.clone();
    if let Some(progress) = progress.as_mut().and_then(Json::as_object_mut) {
        progress.remove("refused");
    }
    let revived = Entity::update_many()
        .col_expr(Column::Progress, Expr::value(progress))
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

/// The message of that key.
pub async fn by_id<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(connection).await?)
}

/// A page of the messages, newest first.
pub async fn page(
    store: &Store,
    within: &Within,
    state: Option<State>,
    window: &Window<Uuid>,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .apply_if(state, |query, state| query.filter(Column::State.eq(state)));
    let query = list
        .clone()
        .apply_if(window.after, |query, id| query.filter(Column::Id.lt(id)))
        .order_by_desc(Column::Id)
        .limit(window.reach());
    Ok(window.page(query.all(store.read()).await?).of_list(list))
}
