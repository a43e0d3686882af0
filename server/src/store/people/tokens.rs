//! The tokens with which programs authenticate.

use entity::{
    Timestamp,
    api_token::{ActiveModel, Column, Entity, Model},
    user,
};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, PaginatorTrait, QueryFilter, QueryOrder,
    QuerySelect, QueryTrait, sea_query::Expr,
};
use uuid::Uuid;

use crate::store::{Page, PageWindow, StoreError, db::names::name_contains};

/// The token with this hash, unless it was revoked or has expired.
pub async fn live_by_hash<C: ConnectionTrait>(
    connection: &C,
    hash: &str,
    now: Timestamp,
) -> Result<Option<Model>, StoreError> {
    let unexpired =
        Condition::any().add(Column::ExpiresAt.is_null()).add(Column::ExpiresAt.gt(now));
    let query = Entity::find().filter(Column::Hash.eq(hash)).filter(Column::RevokedAt.is_null());
    Ok(query.filter(unexpired).one(connection).await?)
}

/// All tokens, sorted by name.
pub async fn list<C: ConnectionTrait>(connection: &C) -> Result<Vec<Model>, StoreError> {
    Ok(Entity::find().order_by_asc(Column::Name).all(connection).await?)
}

/// A page of tokens in order of creation: those of all owners, or those of `owner` only. With
/// `text`, only those whose names or owners' names contain it, ignoring case.
pub async fn page<C: ConnectionTrait>(
    connection: &C,
    owner: Option<Uuid>,
    text: Option<&str>,
    window: &PageWindow<Uuid>,
) -> Result<Page<Model>, StoreError> {
    let mut list = Entity::find();
    if let Some(owner) = owner {
        list = list.filter(Column::UserId.eq(owner));
    }
    if let Some(text) = text {
        let owners = user::Entity::find().select_only().column(user::Column::Id);
        let owners = owners.filter(name_contains(user::Column::Name, text)).into_query();
        let named = Condition::any()
            .add(name_contains(Column::Name, text))
            .add(Column::UserId.in_subquery(owners));
        list = list.filter(named);
    }
    let mut query = list.clone();
    if let Some(after) = window.after {
        query = query.filter(Column::Id.gt(after));
    }
    let query = query.order_by_asc(Column::Id).limit(window.reach());
    Ok(window.page(query.all(connection).await?).of_list(list))
}

/// The token with this key.
pub async fn by_id<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(connection).await?)
}

/// Number of a user's tokens that are not revoked.
pub async fn count_of<C: ConnectionTrait>(connection: &C, owner: Uuid) -> Result<u64, StoreError> {
    let query = Entity::find().filter(Column::UserId.eq(owner));
    Ok(query.filter(Column::RevokedAt.is_null()).count(connection).await?)
}

/// Revokes all tokens of a user.
pub async fn revoke_all_of<C: ConnectionTrait>(
    tx: &C,
    owner: Uuid,
    at: Timestamp,
) -> Result<(), StoreError> {
    let update = Entity::update_many().col_expr(Column::RevokedAt, Expr::value(at.0));
    let update = update.filter(Column::UserId.eq(owner)).filter(Column::RevokedAt.is_null());
    update.exec(tx).await?;
    Ok(())
}

/// The token with this name that belongs to `owner`; without `owner`, one that belongs to no user.
pub async fn by_name<C: ConnectionTrait>(
    connection: &C,
    owner: Option<Uuid>,
    name: &str,
) -> Result<Option<Model>, StoreError> {
    let owned = match owner {
        Some(owner) => Column::UserId.eq(owner),
        None => Column::UserId.is_null(),
    };
    Ok(Entity::find().filter(owned).filter(Column::Name.eq(name)).one(connection).await?)
}

/// Number of a user's tokens, including revoked ones.
pub async fn count_all_of<C: ConnectionTrait>(
    connection: &C,
    owner: Uuid,
) -> Result<u64, StoreError> {
    Ok(Entity::find().filter(Column::UserId.eq(owner)).count(connection).await?)
}

/// Removes a user's revoked tokens.
pub async fn forget_revoked_of<C: ConnectionTrait>(tx: &C, owner: Uuid) -> Result<(), StoreError> {
    let delete = Entity::delete_many().filter(Column::UserId.eq(owner));
    delete.filter(Column::RevokedAt.is_not_null()).exec(tx).await?;
    Ok(())
}

/// Adds a token. Fails with [`crate::store::Constraint::TokenName`] if the name is taken.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// Revokes the token. Returns false if it was already revoked.
pub async fn revoke_if_live<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    at: Timestamp,
) -> Result<bool, StoreError> {
    let update = Entity::update_many().col_expr(Column::RevokedAt, Expr::value(at.0));
    let update = update.filter(Column::Id.eq(id)).filter(Column::RevokedAt.is_null());
    Ok(update.exec(tx).await?.rows_affected > 0)
}

/// Records that the token was used.
pub async fn stamp_use<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    at: Timestamp,
) -> Result<(), StoreError> {
    let update = Entity::update_many().col_expr(Column::UsedAt, Expr::value(at.0));
    update.filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}
