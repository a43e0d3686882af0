//! Reads the deployed modules of a namespace, sorted by name.

use entity::Timestamp;
use sea_orm::{FromQueryResult, Statement, Value};
use uuid::Uuid;

use super::within::Within;
use crate::store::{MAX_TOTAL, Page, PageWindow, Store, StoreError, Total, db::names::containing};

/// A module that has declared at least one object which still exists.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct Module {
    /// The namespace into which the module was deployed.
    pub namespace_id: Uuid,
    /// The module's name, unique in the namespace.
    pub name: String,
    /// Number of schedules that the module declares, without deleted ones.
    pub schedules: i64,
    /// Number of workflows that the module declares, without deleted ones.
    pub workflows: i64,
    /// When one of the module's objects last changed.
    pub changed_at: Timestamp,
}

/// The key of a row in a page: the module's name and the namespace's key.
pub type Key = (String, Uuid);

/// When a maintenance window last changed.
const WINDOW_CHANGED: &str = "coalesce(changed_at, planned_at)";

/// The tables of objects that a module can declare, each with its column of the last change and the
/// condition of rows that count.
const TABLES: [(&str, &str, &str); 8] = [
    ("schedule", "updated_at", "AND deleted_at IS NULL"),
    ("workflow", "updated_at", "AND deleted_at IS NULL"),
    ("calendar", "updated_at", "AND deleted_at IS NULL"),
    ("concurrency_group", "updated_at", ""),
    ("alert_channel", "updated_at", ""),
    ("alert_rule", "updated_at", ""),
    ("health_budget", "updated_at", ""),
    // Windows that are over stay in the table, as history.
    ("maintenance_window", WINDOW_CHANGED, "AND state IN ('planned', 'active')"),
];

/// A page of modules, sorted by name. With `text`, only those whose names contain it, ignoring case.
/// It can only be read forward.
pub async fn page(
    store: &Store,
    within: &Within,
    text: Option<&str>,
    window: &PageWindow<Key>,
) -> Result<Page<Module>, StoreError> {
    let (name, namespace) = window.after.clone().unwrap_or_default();
    let reach = i64::try_from(window.reach()).unwrap_or(i64::MAX);
    let (declared, mut values) = declared(within);
    let [name_at, namespace_at] = [1, 2].map(|place| values.len() + place);
    values.extend([name.into(), namespace.into()]);
    let is_named = named(text, &mut values);
    values.push(reach.into());
    let reach_at = values.len();
    let sql = format!(
        "SELECT namespace_id, name, CAST(sum(schedules) AS bigint) AS schedules, \
           CAST(sum(workflows) AS bigint) AS workflows, max(changed_at) AS changed_at \
         FROM ({declared}) AS declared \
         WHERE (name > ${name_at} OR (name = ${name_at} AND namespace_id > ${namespace_at})) \
           AND {is_named} \
         GROUP BY name, namespace_id ORDER BY name, namespace_id LIMIT ${reach_at}"
    );
    let statement = store.dialect().statement(sql, values);
    let rows = Module::find_by_statement(statement).all(store.read()).await?;
    Ok(window.page(rows).counted(|| Total::Asked(Box::new(counting(store, within, text)))))
}

/// The statement that counts the modules of the list.
fn counting(store: &Store, within: &Within, text: Option<&str>) -> Statement {
    let (declared, mut values) = declared(within);
    let is_named = named(text, &mut values);
    values.push(i64::try_from(MAX_TOTAL).unwrap_or(i64::MAX).into());
    let sql = format!(
        "SELECT count(*) AS rows FROM (SELECT name FROM ({declared}) AS declared \
         WHERE {is_named} GROUP BY name, namespace_id LIMIT ${}) AS modules",
        values.len()
    );
    store.dialect().statement(sql, values)
}

/// A subquery with one row for each object that a module has declared, and its bound values.
/// It must come first in a statement, because SQLite numbers values in the order of the text.
fn declared(within: &Within) -> (String, Vec<Value>) {
    let (lies_within, values) = lies_within(within);
    let of = |(table, changed_at, lives): (&str, &str, &str)| {
        let one = |counted: &str| u8::from(table == counted);
        let (schedules, workflows) = (one("schedule"), one("workflow"));
        format!(
            "SELECT namespace_id, module AS name, {schedules} AS schedules, \
               {workflows} AS workflows, {changed_at} AS changed_at \
             FROM {table} WHERE {lies_within} AND module IS NOT NULL {lives}"
        )
    };
    (TABLES.map(of).join(" UNION ALL "), values)
}

/// The condition that the module's name contains the text, which becomes the next bound value.
fn named(text: Option<&str>, values: &mut Vec<Value>) -> String {
    let Some(text) = text else { return "1 = 1".to_owned() };
    values.push(containing(text).into());
    format!("lower(name) LIKE lower(${}) ESCAPE '\\'", values.len())
}

fn lies_within(within: &Within) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    let condition = match within.compared(&mut values) {
        Some(these) => format!("namespace_id {these}"),
        None => "1 = 1".to_owned(),
    };
    (condition, values)
}
