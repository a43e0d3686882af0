//! The assumptions under which a schedule was composed, before the transaction that writes it:
//! the objects that names referred to, and the rules of its zone.
//! The schedule is written only if all assumptions still hold.

use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::store::{Dialect, StoreError, db::bulk::BulkValues, ledger::zone_rules};

/// The objects that names referred to, and the rules by which the cursor was computed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExpectedObjects {
    /// The release of the zone data.
    pub zone_data: String,
    /// The namespace's name.
    pub namespace: String,
    /// The namespace's key.
    pub namespace_id: Uuid,
    /// The workflow, if it already existed.
    pub workflow: Option<ExpectedWorkflow>,
}

/// The state of a workflow when it was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExpectedWorkflow {
    /// The workflow's key.
    pub id: Uuid,
    /// The workflow's name.
    pub name: String,
    /// The workflow's current version.
    pub version: i32,
}

/// Whether all assumptions hold.
/// If so, the zone data and the workflows cannot change until the transaction ends.
pub async fn holds<C: ConnectionTrait>(
    tx: &C,
    dialect: &Dialect,
    expected: &[ExpectedObjects],
) -> Result<bool, StoreError> {
    let sql = format!("SELECT 1 FROM v WHERE {} LIMIT 1", broken(dialect, "v"));
    let statement = table(expected).statement(dialect, &sql, vec![]);
    Ok(tx.query_one_raw(statement).await?.is_none())
}

/// The assumptions as a table, for [`broken`].
pub(in crate::store) fn table(expected: &[ExpectedObjects]) -> BulkValues {
    let workflows = || expected.iter().map(|one| one.workflow.as_ref());
    BulkValues::default()
        .text("zone_data", expected.iter().map(|one| one.zone_data.clone()))
        .text("namespace", expected.iter().map(|one| one.namespace.clone()))
        .uuid("namespace_id", expected.iter().map(|one| one.namespace_id))
        .text("workflow", workflows().map(|found| found.map(|one| one.name.clone())))
        .uuid("workflow_id", workflows().map(|found| found.map(|one| one.id)))
        .int("version", workflows().map(|found| found.map(|one| i64::from(one.version))))
}

/// The condition that an assumption in a row of `table` no longer holds.
/// If the workflow is found, it exists until the transaction ends. The schedule's foreign key alone
/// would not ensure that, because a workflow that is being deleted keeps its row.
///
/// Each part of the condition looks up rows by key. PostgreSQL plans the statement once, when there
/// may be few workflows. With a join, it would read all of them from then on.
pub(in crate::store) fn broken(dialect: &Dialect, table: &str) -> String {
    let other_zone_data = zone_rules::is_other(dialect, &format!("{table}.zone_data"));
    let lock = dialect.share();
    format!(
        "({other_zone_data} \
          OR (SELECT n.name FROM namespace n WHERE n.id = {table}.namespace_id) \
            IS DISTINCT FROM {table}.namespace \
          OR (SELECT w.version FROM workflow w WHERE w.id = {table}.workflow_id \
              AND w.name = {table}.workflow AND w.deleted_at IS NULL {lock}) \
            IS DISTINCT FROM {table}.version)"
    )
}
