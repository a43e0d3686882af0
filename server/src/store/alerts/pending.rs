//! The alerts that wait to be reported, by rule.

use entity::{
    Timestamp,
    alert::{Column, Entity, Kind, Model},
};
use sea_orm::{
    ColumnTrait, EntityTrait, FromQueryResult, QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    Select,
    sea_query::{Expr, SelectStatement, SimpleExpr},
};
use uuid::Uuid;

use super::notes::stamp;
use crate::store::{DatabaseTransaction, Store, StoreError};

/// The pending alerts of a rule.
#[derive(Clone, Copy, Debug, FromQueryResult)]
pub struct ToTell {
    /// The key of the rule.
    pub rule_id: Uuid,
    /// Since when alerts have been pending.
    pub since: Timestamp,
    /// Number of pending alerts.
    pub alerts: i64,
}

/// Number of pending alerts of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingAlerts {
    /// The kind of the alerts.
    pub kind: Kind,
    /// Whether the beginning of these alerts was reported, so that their end is reported now.
    pub was_told: bool,
    /// Number of alerts.
    pub alerts: i64,
}

/// The alerts that are pending at `now`, by rule.
pub async fn to_tell(store: &Store, now: Timestamp) -> Result<Vec<ToTell>, StoreError> {
    let sql = "SELECT rule_id, min(tell_at) AS since, count(*) AS alerts FROM alert \
         WHERE tell_at IS NOT NULL AND tell_at <= $1 GROUP BY rule_id";
    let statement = store.dialect().statement(sql, [now.0.into()]);
    Ok(ToTell::find_by_statement(statement).all(store.read()).await?)
}

/// Maximum number of alerts that one message reports and one transaction writes.
const MAX_TOLD: u64 = 10_000;

/// A rule's pending alerts at `now`, in the order in which they are reported: at most [`MAX_TOLD`].
fn ripe(rule: Uuid, now: Timestamp) -> Select<Entity> {
    Entity::find()
        .filter(Column::RuleId.eq(rule))
        .filter(Column::TellAt.is_not_null())
        .filter(Column::TellAt.lte(now.0))
        .order_by_asc(Column::TellAt)
        .order_by_asc(Column::Id)
        .limit(MAX_TOLD)
}

/// The keys of the alerts that [`ripe`] selects.
fn ripe_keys(rule: Uuid, now: Timestamp) -> SelectStatement {
    ripe(rule, now).select_only().column(Column::Id).into_query()
}

/// The first of the alerts that a rule reports at `now`
/// in one message, and the number of all of them.
pub async fn telling(
    tx: &DatabaseTransaction,
    rule: Uuid,
    now: Timestamp,
    limit: u64,
) -> Result<(Vec<Model>, Vec<PendingAlerts>), StoreError> {
    // The beginning of an alert may be reported again after an acknowledgement.
    let was_told = || {
        Expr::cust("CASE WHEN alert.told_at IS NULL OR alert.ended_at IS NULL THEN 0 ELSE 1 END")
    };
    let first = ripe(rule, now).limit(limit);
    let counts = Entity::find()
        .filter(Column::Id.in_subquery(ripe_keys(rule, now)))
        .select_only()
        .column(Column::Kind)
        .column_as(was_told(), "was_told")
        .column_as(Expr::cust("count(*)"), "alerts")
        .group_by(Column::Kind)
        .group_by(was_told());
    let counts: Vec<(Kind, i32, i64)> = counts.into_tuple().all(tx).await?;
    let counted =
        |(kind, was_told, alerts)| PendingAlerts { kind, was_told: was_told != 0, alerts };
    Ok((first.all(tx).await?, counts.into_iter().map(counted).collect()))
}

/// The keys of all alerts whose end a rule reports at `now`.
pub async fn ended(
    tx: &DatabaseTransaction,
    rule: Uuid,
    now: Timestamp,
) -> Result<Vec<Uuid>, StoreError> {
    let query = Entity::find()
        .filter(Column::Id.in_subquery(ripe_keys(rule, now)))
        .filter(Column::ToldAt.is_not_null())
        .filter(Column::EndedAt.is_not_null())
        .select_only()
        .column(Column::Id)
        .order_by_asc(Column::Id);
    Ok(query.into_tuple().all(tx).await?)
}

/// Marks the alerts that a rule reports at `now` as reported.
pub async fn told(
    store: &Store,
    tx: &DatabaseTransaction,
    rule: Uuid,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let done = Entity::update_many()
        .col_expr(Column::ToldAt, told_or(now))
        .col_expr(Column::Changed, stamp(store.dialect()))
        .col_expr(Column::TellAt, Expr::value(Option::<i64>::None))
        .filter(Column::Id.in_subquery(ripe_keys(rule, now)));
    Ok(done.exec(tx).await?.rows_affected)
}

/// When an alert was reported, or `now` if it never was.
/// If it was acknowledged before it was reported, the time of the acknowledgement counts
/// as the report, so that the alert's end is reported.
pub(super) fn told_or(now: Timestamp) -> SimpleExpr {
    let sql = format!("coalesce(nullif(alert.told_at, alert.acknowledged_at), {})", now.0);
    Expr::cust(sql)
}

/// Drops those pending alerts of a muted rule that have ended by `now`.
pub async fn hush(tx: &DatabaseTransaction, rule: Uuid, now: Timestamp) -> Result<u64, StoreError> {
    let over = ripe(rule, now).filter(Column::EndedAt.is_not_null());
    let over = over.select_only().column(Column::Id).into_query();
    let hushed = Entity::update_many()
        .col_expr(Column::TellAt, Expr::value(Option::<i64>::None))
        .filter(Column::Id.in_subquery(over));
    Ok(hushed.exec(tx).await?.rows_affected)
}
