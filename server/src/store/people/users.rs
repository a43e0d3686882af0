//! The users of Carillon.

use entity::{
    Timestamp,
    user::{ActiveModel, Column, Entity, GivenElsewhere, Model, Role},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    Set, sea_query::Expr,
};
use uuid::Uuid;

use crate::store::{Page, PageWindow, StoreError, db::names::name_contains};

/// The user with this key.
pub async fn by_id<C: ConnectionTrait>(
    connection: &C,
    id: Uuid,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).one(connection).await?)
}

/// The user with this name.
pub async fn by_name<C: ConnectionTrait>(
    connection: &C,
    name: &str,
) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find().filter(Column::Name.eq(name)).one(connection).await?)
}

/// Whether a user has a name with this normal form.
pub async fn is_name_taken<C: ConnectionTrait>(
    connection: &C,
    name_key: &str,
) -> Result<bool, StoreError> {
    Ok(Entity::find().filter(Column::NameKey.eq(name_key)).one(connection).await?.is_some())
}

/// All users, sorted by name.
pub async fn list<C: ConnectionTrait>(connection: &C) -> Result<Vec<Model>, StoreError> {
    Ok(Entity::find().order_by_asc(Column::Name).all(connection).await?)
}

/// The users with these keys, in no particular order.
pub async fn by_ids<C: ConnectionTrait>(
    connection: &C,
    ids: &[Uuid],
) -> Result<Vec<Model>, StoreError> {
    Ok(Entity::find().filter(Column::Id.is_in(ids.iter().copied())).all(connection).await?)
}

/// A page of all users, in the order in which they were added. With `text`, only those whose names
/// contain it, ignoring case.
pub async fn page<C: ConnectionTrait>(
    connection: &C,
    text: Option<&str>,
    window: &PageWindow<Uuid>,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find()
        .apply_if(text, |query, text| query.filter(name_contains(Column::Name, text)));
    let query = list
        .clone()
        .apply_if(window.after, |query, after| query.filter(Column::Id.gt(after)))
        .order_by_asc(Column::Id)
        .limit(window.reach());
    Ok(window.page(query.all(connection).await?).of_list(list))
}

/// The administrators of the instance who can sign in with a password, locked until the transaction
/// ends, so that two concurrent removals cannot remove the last one. Users of an identity provider
/// do not count, because the provider may be unreachable or may be removed.
pub async fn lock_administrators<C: ConnectionTrait>(tx: &C) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::Role.eq(Role::Admin))
        .filter(Column::DisabledAt.is_null())
        .filter(Column::IsService.eq(false))
        .filter(Column::PasswordHash.ne(""))
        .order_by_asc(Column::Id)
        .lock_exclusive();
    Ok(query.all(tx).await?)
}

/// The user with this key, locked until the transaction ends.
pub async fn lock<C: ConnectionTrait>(tx: &C, id: Uuid) -> Result<Option<Model>, StoreError> {
    Ok(Entity::find_by_id(id).lock_exclusive().one(tx).await?)
}

/// The user with this subject at this issuer, locked until the transaction ends.
pub async fn lock_by_identity<C: ConnectionTrait>(
    tx: &C,
    issuer: &str,
    subject: &str,
) -> Result<Option<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::Issuer.eq(issuer))
        .filter(Column::Subject.eq(subject))
        .lock_exclusive();
    Ok(query.one(tx).await?)
}

/// Sets the permissions that a user has from groups at the identity provider, as of `at`.
pub async fn set_given_elsewhere<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    given: GivenElsewhere,
    at: Timestamp,
) -> Result<(), StoreError> {
    let (given_elsewhere, given_at) = (Set(Some(given)), Set(Some(at)));
    let row = ActiveModel { given_elsewhere, given_at, ..ActiveModel::default() };
    Entity::update_many().set(row).filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}

/// Sets a user's role in all namespaces.
pub async fn set_role<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    role: Option<Role>,
    sees_payloads: bool,
) -> Result<(), StoreError> {
    let row = ActiveModel {
        role: Set(role),
        sees_payloads: Set(sees_payloads),
        ..ActiveModel::default()
    };
    Entity::update_many().set(row).filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}

/// Removes a user.
pub async fn delete<C: ConnectionTrait>(tx: &C, id: Uuid) -> Result<(), StoreError> {
    Entity::delete_by_id(id).exec(tx).await?;
    Ok(())
}

/// Whether there are no users.
pub async fn is_empty<C: ConnectionTrait>(connection: &C) -> Result<bool, StoreError> {
    Ok(Entity::find().limit(1).one(connection).await?.is_none())
}

/// Whether there is a person besides the user with this key. Service accounts are not persons.
pub async fn has_another_person<C: ConnectionTrait>(
    connection: &C,
    than: Uuid,
) -> Result<bool, StoreError> {
    let found =
        Entity::find().filter(Column::IsService.eq(false)).filter(Column::Id.ne(than)).limit(1);
    Ok(found.one(connection).await?.is_some())
}

/// Whether any user has ever signed in.
pub async fn has_anyone_signed_in<C: ConnectionTrait>(connection: &C) -> Result<bool, StoreError> {
    let found = Entity::find().filter(Column::SignedInAt.is_not_null()).limit(1);
    Ok(found.one(connection).await?.is_some())
}

/// Among the administrators who can sign in, the one who was added first.
pub async fn first_administrator<C: ConnectionTrait>(
    connection: &C,
) -> Result<Option<Model>, StoreError> {
    let found = Entity::find()
        .filter(Column::Role.eq(Role::Admin))
        .filter(Column::IsService.eq(false))
        .filter(Column::DisabledAt.is_null())
        .order_by_asc(Column::Id)
        .limit(1);
    Ok(found.one(connection).await?)
}

/// Adds a user. Fails with [`crate::store::Constraint::UserName`] if
/// the name is taken or looks like an existing one.
pub async fn insert<C: ConnectionTrait>(tx: &C, row: ActiveModel) -> Result<(), StoreError> {
    Entity::insert(row).exec_without_returning(tx).await?;
    Ok(())
}

/// Changes the password of the user with this key; `must_change` says that the new one is for one
/// use. Returns false if there is no such user.
pub async fn set_password_hash<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    hash: String,
    must_change: bool,
) -> Result<bool, StoreError> {
    let update = Entity::update_many()
        .col_expr(Column::PasswordHash, Expr::value(hash))
        .col_expr(Column::MustChangePassword, Expr::value(must_change));
    Ok(update.filter(Column::Id.eq(id)).exec(tx).await?.rows_affected > 0)
}

/// Disables the user from `at` on, which also ends the user's sessions.
/// `None` enables the user again.
pub async fn set_disabled<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    at: Option<Timestamp>,
) -> Result<bool, StoreError> {
    let at = at.map(|at| at.0);
    let mut update = Entity::update_many().col_expr(Column::DisabledAt, Expr::value(at));
    if at.is_some() {
        update = update.col_expr(Column::SessionsFrom, Expr::value(at));
    }
    Ok(update.filter(Column::Id.eq(id)).exec(tx).await?.rows_affected > 0)
}

/// Records that the user signed in.
pub async fn stamp_sign_in<C: ConnectionTrait>(
    tx: &C,
    id: Uuid,
    at: Timestamp,
) -> Result<(), StoreError> {
    let update = Entity::update_many().col_expr(Column::SignedInAt, Expr::value(at.0));
    update.filter(Column::Id.eq(id)).exec(tx).await?;
    Ok(())
}
