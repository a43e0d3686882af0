//! The answers to mutations that had an idempotency key.

use entity::{
    Timestamp,
    idempotency::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect, Set, TryInsertResult,
    sea_query::Expr,
};

use crate::store::StoreError;

/// Takes an idempotency key.
/// Returns false if the key is taken. Waits for a transaction that is just taking it.
pub async fn take_if_free<C: ConnectionTrait>(
    tx: &C,
    actor: &str,
    key: &str,
    request: &str,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let row = ActiveModel {
        actor: Set(actor.to_owned()),
        key: Set(key.to_owned()),
        request: Set(request.to_owned()),
        answer: Set(serde_json::Value::Null),
        at: Set(at),
    };
    let inserted = Entity::insert(row)
        .on_conflict_do_nothing_on([Column::Actor, Column::Key])
        .exec_without_returning(tx)
        .await?;
    Ok(matches!(inserted, TryInsertResult::Inserted(1..)))
}

/// The request for which the key was used, and the stored answer.
/// Neither can change before the transaction ends.
pub async fn find<C: ConnectionTrait>(
    tx: &C,
    actor: &str,
    key: &str,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find_by_id((actor.to_owned(), key.to_owned()));
    Ok(query.lock_exclusive().one(tx).await?)
}

/// The request and the answer for a key, without a lock.
/// Only an answered call is seen, because a key is committed together with its answer.
pub async fn peek<C: ConnectionTrait>(
    connection: &C,
    actor: &str,
    key: &str,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find_by_id((actor.to_owned(), key.to_owned()));
    Ok(query.one(connection).await?)
}

/// Frees an idempotency key that this transaction has taken.
pub async fn release<C: ConnectionTrait>(tx: &C, actor: &str, key: &str) -> Result<(), StoreError> {
    Entity::delete_many()
        .filter(Column::Actor.eq(actor))
        .filter(Column::Key.eq(key))
        .exec(tx)
        .await?;
    Ok(())
}

/// Stores the answer for an idempotency key that was taken.
pub async fn answer<C: ConnectionTrait>(
    tx: &C,
    actor: &str,
    key: &str,
    answer: serde_json::Value,
) -> Result<(), StoreError> {
    Entity::update_many()
        .col_expr(Column::Answer, Expr::value(answer))
        .filter(Column::Actor.eq(actor))
        .filter(Column::Key.eq(key))
        .exec(tx)
        .await?;
    Ok(())
}
