//! What a schedule relies on that was composed before the transaction that writes it: names that
//! were looked up, and the rules of its zone. It is written only where all of that still holds.

use sea_orm::ConnectionTrait;
use uuid::Uuid;

use crate::store::{Dialect, StoreError, db::bulk::Bulk, ledger::zone_rules};

/// What some names stood for, and by which rules the cursor was computed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expected {
    /// The release of the zone data.
    pub zone_data: String,
    /// The namespace's name.
    pub namespace: String,
    /// Its key.
    pub namespace_id: Uuid,
    /// The workflow, if it is there already.
    pub workflow: Option<ExpectedWorkflow>,
}

/// A workflow as it was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExpectedWorkflow {
    /// Its key.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its current version.
    pub version: i32,
}

/// Whether all of it holds. The release of the zone data and the workflows do so to the end of the
/// transaction.
pub async fn holds<C: ConnectionTrait>(
    tx: &C,
    dialect: &Dialect,
    expected: &[Expected],
) -> Result<bool, StoreError> {
    let sql = format!("SELECT 1 FROM v WHERE {} LIMIT 1", broken(dialect, "v"));
    let statement = table(expected).statement(dialect, &sql, vec![]);
    Ok(tx.query_one_raw(statement).await?.is_none())
}

/// The rows that [`broken`] looks at.
pub(in crate::store) fn table(expected: &[Expected]) -> Bulk {
    let workflows = || expected.iter().map(|one| one.workflow.as_ref());
    Bulk::default()
        .text("zone_data", expected.iter().map(|one| one.zone_data.clone()))
        .text("namespace", expected.iter().map(|one| one.namespace.clone()))
        .uuid("namespace_id", expected.iter().map(|one| one.namespace_id))
        .text("workflow", workflows().map(|found| found.map(|one| one.name.clone())))
        .uuid("workflow_id", workflows().map(|found| found.map(|one| one.id)))
        .int("version", workflows().map(|found| found.map(|one| i64::from(one.version))))
}

/// The condition that something about a row of `table` does not hold any more. That a workflow is
/// there holds to the end of the transaction: a schedule's reference alone would be one to a
/// workflow that is deleted at this moment, as its row stays.
///
/// Each part looks by a key. PostgreSQL plans the statement once, when there may be few workflows,
/// and would go through all of them in a join from then on.
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
