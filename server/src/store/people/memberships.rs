//! The memberships of users in namespaces, which give them permissions.

use entity::{
    membership::{ActiveModel, Column, Entity, Model},
    user,
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    sea_query::OnConflict,
};
use uuid::Uuid;

use crate::store::{
    Page, PageWindow, Store, StoreError,
    db::{bulk::BulkValues, names::name_contains},
};

/// The memberships of a user.
pub async fn of_user<C: ConnectionTrait>(
    connection: &C,
    user: Uuid,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find().filter(Column::UserId.eq(user));
    Ok(query.order_by_asc(Column::NamespaceId).all(connection).await?)
}

/// The first memberships of each of these users.
pub async fn first_of_users(
    store: &Store,
    users: &[Uuid],
    limit: u64,
) -> Result<Vec<Model>, StoreError> {
    if users.is_empty() {
        return Ok(vec![]);
    }
    let statement = BulkValues::default().uuid("id", users.iter().copied()).statement(
        store.dialect(),
        "SELECT * FROM (SELECT membership.*, row_number() OVER ( \
             PARTITION BY membership.user_id ORDER BY membership.namespace_id) AS place \
           FROM v JOIN membership ON membership.user_id = v.id) AS numbered \
         WHERE place <= {0} ORDER BY user_id, place",
        vec![i64::try_from(limit).unwrap_or(i64::MAX).into()],
    );
    Ok(Entity::find().from_raw_sql(statement).all(store.read()).await?)
}

/// The members of a namespace after the given one, in the order in which their users were created.
pub async fn of_namespace<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    after: Option<Uuid>,
    limit: u64,
) -> Result<Vec<Model>, StoreError> {
    let mut query = Entity::find().filter(Column::NamespaceId.eq(namespace));
    if let Some(after) = after {
        query = query.filter(Column::UserId.gt(after));
    }
    Ok(query.order_by_asc(Column::UserId).limit(limit).all(connection).await?)
}

/// A page of the members of a namespace, in the order of their users. With `text`, only those whose
/// names contain it, ignoring case.
pub async fn page<C: ConnectionTrait>(
    connection: &C,
    namespace: Uuid,
    text: Option<&str>,
    window: &PageWindow<Uuid>,
) -> Result<Page<Model>, StoreError> {
    let named = text.map(|text| {
        let users = user::Entity::find().select_only().column(user::Column::Id);
        users.filter(name_contains(user::Column::Name, text)).into_query()
    });
    let list = Entity::find()
        .filter(Column::NamespaceId.eq(namespace))
        .apply_if(named, |query, named| query.filter(Column::UserId.in_subquery(named)));
    let query = list
        .clone()
        .apply_if(window.after, |query, after| query.filter(Column::UserId.gt(after)))
        .order_by_asc(Column::UserId)
        .limit(window.reach());
    Ok(window.page(query.all(connection).await?).of_list(list))
}

/// The membership of a user in a namespace.
pub async fn find<C: ConnectionTrait>(
    connection: &C,
    user: Uuid,
    namespace: Uuid,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id((user, namespace)).one(connection).await?)
}

/// Sets the permissions of a user in a namespace, in place of earlier ones.
pub async fn put<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    let mut same = OnConflict::columns([Column::UserId, Column::NamespaceId]);
    same.update_columns([Column::Role, Column::SeesPayloads]);
    Entity::insert(row).on_conflict(same).exec_without_returning(tx).await?;
    Ok(())
}

/// Removes a user from a namespace. Returns false if the user was not a member.
pub async fn remove<C: ConnectionTrait>(
    tx: &C,
    user: Uuid,
    namespace: Uuid,
) -> Result<bool, StoreError> {
    Ok(Entity::delete_by_id((user, namespace)).exec(tx).await?.rows_affected > 0)
}

/// Removes a user from all namespaces.
pub async fn remove_all_of<C: ConnectionTrait>(tx: &C, user: Uuid) -> Result<(), StoreError> {
    Entity::delete_many().filter(Column::UserId.eq(user)).exec(tx).await?;
    Ok(())
}
