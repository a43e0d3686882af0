//! Finds the objects that may use secrets: definitions, watchdog addresses and channels that
//! mention any. The names of the secrets are in templates, which this module does not parse.

use sea_orm::FromQueryResult;
use uuid::Uuid;

use crate::store::{
    Store, StoreError,
    db::{bulk::BulkValues, rows::KeyRow},
};

/// Maximum number of workflows of a namespace, and of its
/// schedules with a watchdog, that are examined.
pub const MAX_EXAMINED: usize = 5_000;

/// Maximum number of channels of a namespace that are examined.
pub const MAX_CHANNELS: u64 = 500;

/// A workflow whose current definition mentions secrets.
#[derive(Clone, Debug, FromQueryResult)]
pub struct Mention {
    /// The key of the workflow.
    pub id: Uuid,
    /// The workflow's name.
    pub name: String,
    /// The workflow's tasks.
    pub definition: serde_json::Value,
}

/// A schedule that runs a workflow.
#[derive(Clone, Debug, FromQueryResult)]
pub struct WorkflowSchedule {
    /// The key of the schedule.
    pub id: Uuid,
    /// The schedule's name.
    pub name: String,
    /// The workflow that the schedule runs.
    pub workflow_id: Uuid,
}

/// A schedule whose watchdog addresses mention secrets.
#[derive(Clone, Debug, FromQueryResult)]
pub struct Pinger {
    /// The key of the schedule.
    pub id: Uuid,
    /// The schedule's name.
    pub name: String,
    /// The addresses of its watchdog.
    pub ping: serde_json::Value,
}

/// The workflows of a namespace that are examined: the first [`MAX_EXAMINED`] by name.
pub async fn examined(store: &Store, namespace: Uuid) -> Result<Vec<Uuid>, StoreError> {
    let sql = format!(
        "SELECT id FROM workflow WHERE namespace_id = $1 AND deleted_at IS NULL \
           ORDER BY lower(name), id LIMIT {MAX_EXAMINED}"
    );
    let statement = store.dialect().statement(sql, [namespace.into()]);
    let rows = KeyRow::find_by_statement(statement).all(store.read()).await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// The workflows among these that mention secrets in their current definitions.
/// Definitions may be large, so callers should query a few workflows at a time.
pub async fn mentions(store: &Store, workflows: &[Uuid]) -> Result<Vec<Mention>, StoreError> {
    let workflows = BulkValues::default().uuid("id", workflows.iter().copied());
    let statement = workflows.statement(
        store.dialect(),
        "SELECT w.id AS id, w.name AS name, d.definition AS definition \
           FROM v JOIN workflow w ON w.id = v.id \
             JOIN workflow_version d ON d.workflow_id = w.id AND d.version = w.version \
           WHERE CAST(d.definition AS text) LIKE '%secrets%'",
        vec![],
    );
    Ok(Mention::find_by_statement(statement).all(store.read()).await?)
}

/// The schedules that run one of these workflows and are not deleted: at most [`MAX_EXAMINED`].
pub async fn runners(
    store: &Store,
    workflows: &[Uuid],
) -> Result<Vec<WorkflowSchedule>, StoreError> {
    if workflows.is_empty() {
        return Ok(vec![]);
    }
    let sql = format!(
        "SELECT s.id AS id, s.name AS name, s.workflow_id AS workflow_id \
           FROM v JOIN schedule s ON s.workflow_id = v.id \
           WHERE s.deleted_at IS NULL LIMIT {MAX_EXAMINED}"
    );
    let workflows = BulkValues::default().uuid("id", workflows.iter().copied());
    let statement = workflows.statement(store.dialect(), &sql, vec![]);
    Ok(WorkflowSchedule::find_by_statement(statement).all(store.read()).await?)
}

/// The schedules of a namespace whose watchdog addresses mention
/// secrets, among the first [`MAX_EXAMINED`].
pub async fn pingers(store: &Store, namespace: Uuid) -> Result<Vec<Pinger>, StoreError> {
    let sql = format!(
        "SELECT s.id AS id, s.name AS name, s.ping AS ping FROM ( \
           SELECT id, name, ping FROM schedule \
             WHERE ping IS NOT NULL AND namespace_id = $1 AND deleted_at IS NULL \
             ORDER BY id LIMIT {MAX_EXAMINED}) s \
           WHERE CAST(s.ping AS text) LIKE '%secrets%'"
    );
    let statement = store.dialect().statement(sql, [namespace.into()]);
    Ok(Pinger::find_by_statement(statement).all(store.read()).await?)
}

/// Whether a namespace has more workflows, schedules with
/// a watchdog, or channels than are examined.
pub async fn is_cut(store: &Store, namespace: Uuid) -> Result<bool, StoreError> {
    #[derive(FromQueryResult)]
    struct IsCut {
        is_cut: i32,
    }
    let beyond = |rows: &str, most: u64| {
        let read = format!("SELECT 1 FROM {rows} LIMIT {}", most + 1);
        format!("(SELECT count(*) FROM ({read}) x) > {most}")
    };
    let sql = format!(
        "SELECT CASE WHEN {} OR {} OR {} THEN 1 ELSE 0 END AS is_cut",
        beyond("workflow WHERE namespace_id = $1 AND deleted_at IS NULL", MAX_EXAMINED as u64),
        beyond(
            "schedule WHERE ping IS NOT NULL AND namespace_id = $1 AND deleted_at IS NULL",
            MAX_EXAMINED as u64
        ),
        beyond("alert_channel WHERE namespace_id = $1", MAX_CHANNELS),
    );
    let statement = store.dialect().statement(sql, [namespace.into()]);
    let row = IsCut::find_by_statement(statement).one(store.read()).await?;
    Ok(row.is_some_and(|row| row.is_cut != 0))
}
