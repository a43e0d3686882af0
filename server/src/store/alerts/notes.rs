//! The alerts that rules have recorded.

use std::collections::HashSet;

use entity::{
    Timestamp,
    alert::{ActiveModel, Column, Entity, Kind, Model},
};
use sea_orm::{
    ActiveEnum, ColumnTrait, ConnectionTrait, EntityTrait, FromQueryResult, IntoActiveModel,
    QueryFilter, QueryOrder, QuerySelect, QueryTrait,
    sea_query::{Expr, SimpleExpr},
};
use uuid::Uuid;

use super::pending::told_or;
use crate::store::{
    DatabaseTransaction, Dialect, Page, PageWindow, Store, StoreError,
    db::{bulk::BulkValues, page::page_descending, within::Within},
};

/// An update of an open alert.
#[derive(Clone, Debug)]
pub struct AlertUpdate {
    /// The key of the alert.
    pub id: Uuid,
    /// When the problem last occurred.
    pub last_at: Timestamp,
    /// Number of failures in a row.
    pub count: i64,
    /// The latest run that the alert concerns.
    pub run_id: Option<Uuid>,
    /// The reason for the alert, as text.
    pub detail: Option<String>,
}

/// An alert that is over.
#[derive(Clone, Copy, Debug)]
pub struct EndedAlert {
    /// The key of the alert.
    pub id: Uuid,
    /// When the alert ended.
    pub ended_at: Timestamp,
    /// When the end of the alert may be reported, if no earlier report is pending.
    pub tell_at: Option<Timestamp>,
}

/// Selects alerts. A field that is `None` does not narrow the selection.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only alerts of this rule.
    pub rule_id: Option<Uuid>,
    /// Only alerts of this schedule.
    pub schedule_id: Option<Uuid>,
    /// Only open alerts, or only alerts that have ended.
    pub open: Option<bool>,
    /// With true, only alerts that are acknowledged at this time; with false, only the others.
    pub acknowledged: Option<(bool, Timestamp)>,
    /// With true, only alerts of rules that are muted at this time; with false, only the others.
    pub muted: Option<(bool, Timestamp)>,
}

/// Number of rows per statement: SQLite binds at most 32,766 values in one.
const CHUNK: usize = 500;

/// Adds alerts. Alerts that are already recorded stay unchanged.
pub async fn add_new(
    store: &Store,
    tx: &DatabaseTransaction,
    rows: Vec<Model>,
) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let rows: Vec<ActiveModel> = rows.into_iter().map(IntoActiveModel::into_active_model).collect();
    for (chunk, ids) in rows.chunks(CHUNK).zip(ids.chunks(CHUNK)) {
        Entity::insert_many(chunk.to_vec())
            .on_conflict_do_nothing_on([Column::RuleId, Column::Occurrence])
            .exec_without_returning(tx)
            .await?;
        let stamped = Entity::update_many().col_expr(Column::Changed, stamp(store.dialect()));
        stamped.filter(Column::Id.is_in(ids.iter().copied())).exec(tx).await?;
    }
    Ok(())
}

/// The stamp of a change of alerts, for the change feed.
pub(super) fn stamp(dialect: &Dialect) -> SimpleExpr {
    Expr::cust(dialect.stamp("alert"))
}

/// The alerts in `rows` that are already recorded, by rule and occurrence.
pub async fn known(store: &Store, rows: &[Model]) -> Result<HashSet<(Uuid, String)>, StoreError> {
    #[derive(FromQueryResult)]
    struct KnownNote {
        rule_id: Uuid,
        occurrence: String,
    }
    let mut known = HashSet::new();
    for rows in rows.chunks(CHUNK) {
        let statement = BulkValues::default()
            .uuid("rule_id", rows.iter().map(|row| row.rule_id))
            .text("occurrence", rows.iter().map(|row| row.occurrence.clone()))
            .statement(
                store.dialect(),
                "SELECT alert.rule_id, alert.occurrence FROM v JOIN alert \
                   ON alert.rule_id = v.rule_id AND alert.occurrence = v.occurrence",
                vec![],
            );
        let found = KnownNote::find_by_statement(statement).all(store.read()).await?;
        known.extend(found.into_iter().map(|row| (row.rule_id, row.occurrence)));
    }
    Ok(known)
}

/// The open alerts of the given schedules.
pub async fn open_of(
    store: &Store,
    schedules: &[Uuid],
    kinds: &[Kind],
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::ScheduleId.is_in(schedules.iter().copied()))
        .filter(Column::EndedAt.is_null())
        .filter(Column::Kind.is_in(kinds.iter().copied()));
    Ok(query.all(store.read()).await?)
}

/// A page of the open alerts, by key.
pub async fn open_page(
    store: &Store,
    kinds: &[Kind],
    after: Uuid,
    limit: u64,
) -> Result<Vec<Model>, StoreError> {
    let query = Entity::find()
        .filter(Column::EndedAt.is_null())
        .filter(Column::Kind.is_in(kinds.iter().copied()))
        .filter(Column::Id.gt(after))
        .order_by_asc(Column::Id)
        .limit(limit);
    Ok(query.all(store.read()).await?)
}

/// All open alerts of the given kinds.
pub async fn open_all(store: &Store, kinds: &[Kind]) -> Result<Vec<Model>, StoreError> {
    const PAGE: usize = 1_000;
    let mut all = Vec::new();
    loop {
        let after = all.last().map_or(Uuid::nil(), |last: &Model| last.id);
        let page = open_page(store, kinds, after, PAGE as u64).await?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

/// Extends open alerts with new events.
pub async fn go_on(
    store: &Store,
    tx: &DatabaseTransaction,
    going: &[AlertUpdate],
) -> Result<(), StoreError> {
    let sql = format!(
        "UPDATE alert SET last_at = v.last_at, count = v.count, run_id = v.run_id, \
           detail = v.detail, changed = {} FROM v WHERE alert.id = v.id AND alert.ended_at IS NULL",
        store.dialect().stamp("alert")
    );
    for going in going.chunks(CHUNK) {
        let statement = BulkValues::default()
            .uuid("id", going.iter().map(|one| one.id))
            .int("last_at", going.iter().map(|one| one.last_at.0))
            .int("count", going.iter().map(|one| one.count))
            .uuid("run_id", going.iter().map(|one| one.run_id))
            .text("detail", going.iter().map(|one| one.detail.clone()))
            .statement(store.dialect(), &sql, vec![]);
        tx.execute_raw(statement).await?;
    }
    Ok(())
}

/// Ends alerts. An alert that did not outlast its grace period is withdrawn: only followers see it
/// from then on, and its event may be recorded again. If the beginning of an alert was to be
/// reported again after an acknowledgement, only its end is reported.
pub async fn end(
    store: &Store,
    tx: &DatabaseTransaction,
    over: &[EndedAlert],
) -> Result<(), StoreError> {
    for over in over.chunks(CHUNK) {
        let ended = || {
            BulkValues::default()
                .uuid("id", over.iter().map(|one| one.id))
                .int("ended_at", over.iter().map(|one| one.ended_at.0))
                .int("tell_at", over.iter().map(|one| one.tell_at.map(|at| at.0)))
        };
        let unripe = format!(
            "UPDATE alert SET ended_at = v.ended_at, withdrawn_at = v.ended_at, tell_at = NULL, \
               occurrence = v.occurrence, changed = {} \
             FROM v WHERE alert.id = v.id AND alert.ended_at IS NULL AND alert.told_at IS NULL \
               AND alert.tell_at > alert.began_at AND alert.tell_at > v.ended_at",
            store.dialect().stamp("alert")
        );
        let freed = over.iter().map(|one| format!("withdrawn:{}", one.id));
        let withdrawn = ended().text("occurrence", freed);
        tx.execute_raw(withdrawn.statement(store.dialect(), &unripe, vec![])).await?;
        let over = format!(
            "UPDATE alert SET ended_at = v.ended_at, \
               tell_at = CASE WHEN alert.told_at IS NULL THEN coalesce(alert.tell_at, v.tell_at) \
                 ELSE v.tell_at END, changed = {} \
             FROM v WHERE alert.id = v.id AND alert.ended_at IS NULL",
            store.dialect().stamp("alert")
        );
        tx.execute_raw(ended().statement(store.dialect(), &over, vec![])).await?;
    }
    Ok(())
}

/// The alert with this key, locked until the transaction ends; `None` if it was withdrawn.
pub async fn lock<C: ConnectionTrait>(tx: &C, id: Uuid) -> Result<Option<Model>, StoreError> {
    let query = Entity::find_by_id(id).filter(Column::WithdrawnAt.is_null());
    Ok(query.lock_exclusive().one(tx).await?)
}

/// The alert with this key; `None` if it was withdrawn.
pub async fn by_id(store: &Store, id: Uuid) -> Result<Option<Model>, StoreError> {
    let query = Entity::find_by_id(id).filter(Column::WithdrawnAt.is_null());
    Ok(query.one(store.read()).await?)
}

/// The acknowledgement of an alert.
#[derive(Clone, Debug)]
pub struct Acknowledgement {
    /// When the alert was acknowledged.
    pub at: Timestamp,
    /// The user or token that acknowledged the alert.
    pub by: String,
    /// The note of the user or token.
    pub note: Option<String>,
    /// When the acknowledgement ends; `None` if it lasts as long as the alert.
    pub until: Option<Timestamp>,
    /// Whether the beginning of the alert is reported again when the acknowledgement ends.
    pub tells_again: bool,
}

/// Records the acknowledgement of an alert. The beginning of an open alert is then reported only
/// when the acknowledgement ends, if it ends; the alert's end is reported as usual.
pub async fn acknowledge<C: ConnectionTrait>(
    dialect: &Dialect,
    tx: &C,
    row: &Model,
    given: Acknowledgement,
) -> Result<(), StoreError> {
    let Acknowledgement { at, by, note, until, tells_again } = given;
    let mut update = Entity::update_many()
        .col_expr(Column::AcknowledgedAt, Expr::value(at.0))
        .col_expr(Column::AcknowledgedBy, Expr::value(by))
        .col_expr(Column::AcknowledgedNote, Expr::value(note))
        .col_expr(Column::AcknowledgedUntil, Expr::value(until.map(|until| until.0)))
        .col_expr(Column::Changed, stamp(dialect));
    if row.ended_at.is_none() {
        let tell_at = until.filter(|_| tells_again).map(|until| until.0);
        update = update
            .col_expr(Column::ToldAt, told_or(at))
            .col_expr(Column::TellAt, Expr::value(tell_at));
    }
    update.filter(Column::Id.eq(row.id)).exec(tx).await?;
    Ok(())
}

/// Withdraws an acknowledgement.
/// If the beginning of an open alert was never reported, it is reported at `tell_at`, if given.
pub async fn unacknowledge<C: ConnectionTrait>(
    dialect: &Dialect,
    tx: &C,
    row: &Model,
    tell_at: Option<Timestamp>,
) -> Result<(), StoreError> {
    let mut update = Entity::update_many()
        .col_expr(Column::AcknowledgedAt, Expr::value(Option::<i64>::None))
        .col_expr(Column::AcknowledgedBy, Expr::value(Option::<String>::None))
        .col_expr(Column::AcknowledgedNote, Expr::value(Option::<String>::None))
        .col_expr(Column::AcknowledgedUntil, Expr::value(Option::<i64>::None))
        .col_expr(Column::Changed, stamp(dialect));
    if row.ended_at.is_none() {
        let is_untold = row.told_at.is_none() || row.told_at == row.acknowledged_at;
        let tell_at = tell_at.filter(|_| is_untold).map(|at| at.0);
        update = update.col_expr(Column::TellAt, Expr::value(tell_at));
        if tell_at.is_some() {
            update = update.col_expr(Column::ToldAt, Expr::value(Option::<i64>::None));
        }
    }
    update.filter(Column::Id.eq(row.id)).exec(tx).await?;
    Ok(())
}

/// Whether an alert is acknowledged at `now`.
pub fn is_acknowledged(row: &Model, now: Timestamp) -> bool {
    // An alert that ended while it was acknowledged remains acknowledged.
    let at = row.ended_at.unwrap_or(now);
    row.acknowledged_at.is_some() && row.acknowledged_until.is_none_or(|until| until > at)
}

/// The same in SQL. It is never NULL, so it can be negated.
fn acknowledged_at(now: Timestamp) -> String {
    format!(
        "alert.acknowledged_at IS NOT NULL AND (alert.acknowledged_until IS NULL \
           OR alert.acknowledged_until > coalesce(alert.ended_at, {}))",
        now.0
    )
}

/// Whether the rule of an alert is muted at `now`, in SQL.
fn muted_at(now: Timestamp) -> String {
    format!(
        "EXISTS (SELECT 1 FROM alert_rule m WHERE m.id = alert.rule_id AND m.muted_until > {})",
        now.0
    )
}

fn is(condition: &str, expected: bool) -> SimpleExpr {
    Expr::cust(if expected { format!("({condition})") } else { format!("NOT ({condition})") })
}

/// A page of alerts, newest first.
pub async fn page(
    store: &Store,
    within: &Within,
    filter: &Filter,
    window: &PageWindow<Uuid>,
) -> Result<Page<Model>, StoreError> {
    let list = Entity::find()
        .filter(within.holds(Column::NamespaceId))
        .filter(Column::WithdrawnAt.is_null())
        // The alerts of a deleted rule will be removed soon, so they are left out.
        .filter(Expr::cust("EXISTS (SELECT 1 FROM alert_rule r WHERE r.id = alert.rule_id)"))
        .apply_if(filter.rule_id, |query, id| query.filter(Column::RuleId.eq(id)))
        .apply_if(filter.schedule_id, |query, id| query.filter(Column::ScheduleId.eq(id)))
        .apply_if(filter.open, |query, open| {
            query.filter(if open {
                Column::EndedAt.is_null()
            } else {
                Column::EndedAt.is_not_null()
            })
        })
        .apply_if(filter.acknowledged, |query, (expected, now)| {
            query.filter(is(&acknowledged_at(now), expected))
        })
        .apply_if(filter.muted, |query, (expected, now)| {
            query.filter(is(&muted_at(now), expected))
        });
    page_descending(store.read(), list, Column::Id, window).await
}

/// The word for a kind, with which the keys of its occurrences begin.
pub fn word(kind: Kind) -> String {
    kind.to_value()
}
