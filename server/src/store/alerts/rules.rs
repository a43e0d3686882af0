//! Alert rules: which events are reported to which channels.

use entity::{
    Timestamp, alert,
    alert_rule::{ActiveModel, Column, Entity, Model},
};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    sea_query::{Expr, ExprTrait},
};
use uuid::Uuid;

use super::notes::stamp;
use crate::store::{Dialect, StoreError, db::lookups::lookups, deleted_namespaces::deleted_keys};

lookups!("rule", removed: by_ids, list, lock, lock_all, insert, update);

/// The enabled rules of all namespaces that are not deleted.
pub async fn enabled<C: ConnectionTrait>(connection: &C) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::Enabled.eq(true))
        .filter(Column::NamespaceId.not_in_subquery(deleted_keys()))
        .order_by_asc(Column::Id);
    Ok(query.all(connection).await?)
}

/// Whether any rule is enabled in any namespace that is not deleted.
pub async fn is_any_enabled<C: ConnectionTrait>(connection: &C) -> Result<bool, StoreError> {
    let query = Entity::find()
        .filter(Column::Enabled.eq(true))
        .filter(Column::NamespaceId.not_in_subquery(deleted_keys()));
    Ok(query.one(connection).await?.is_some())
}

/// Deletes a rule. [`forget`] then removes its alerts.
pub async fn delete<C: ConnectionTrait>(tx: &C, id: Uuid) -> Result<(), StoreError> {
    Entity::delete_by_id(id).exec(tx).await?;
    Ok(())
}

/// Removes up to `limit` alerts of a deleted rule. Returns their number.
pub async fn forget<C: ConnectionTrait>(tx: &C, id: Uuid, limit: u64) -> Result<u64, StoreError> {
    let some = alert::Entity::find()
        .select_only()
        .column(alert::Column::Id)
        .filter(alert::Column::RuleId.eq(id))
        .limit(limit)
        .into_query();
    let gone =
        alert::Entity::delete_many().filter(alert::Column::Id.in_subquery(some)).exec(tx).await?;
    Ok(gone.rows_affected)
}

/// Ends up to `limit` alerts of the rule without reporting that they ended. Returns their number.
pub async fn let_go<C: ConnectionTrait>(
    dialect: &Dialect,
    tx: &C,
    id: Uuid,
    now: Timestamp,
    limit: u64,
) -> Result<u64, StoreError> {
    let some = alert::Entity::find()
        .select_only()
        .column(alert::Column::Id)
        .filter(alert::Column::RuleId.eq(id))
        .filter(alert::Column::EndedAt.is_null().or(alert::Column::TellAt.is_not_null()))
        .limit(limit)
        .into_query();
    let ended = Expr::col(alert::Column::EndedAt).if_null(Expr::val(now.0));
    let let_go = alert::Entity::update_many()
        .col_expr(alert::Column::EndedAt, ended)
        .col_expr(alert::Column::TellAt, Expr::value(Option::<i64>::None))
        .col_expr(alert::Column::Changed, stamp(dialect))
        .filter(alert::Column::Id.in_subquery(some))
        .exec(tx)
        .await?;
    Ok(let_go.rows_affected)
}
