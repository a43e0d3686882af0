//! The deployed modules of a namespace, by name.

use entity::Timestamp;
use sea_orm::{FromQueryResult, Statement};
use uuid::Uuid;

use crate::store::{MAX_TOTAL, Page, Store, StoreError, Total, Window};

/// A module with at least one existing schedule or workflow.
#[derive(Clone, Debug, PartialEq, Eq, FromQueryResult)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// How many schedules it declares, without deleted ones.
    pub schedules: i64,
    /// How many workflows it declares, without deleted ones.
    pub workflows: i64,
    /// When one of these last changed.
    pub changed_at: Timestamp,
}

/// A page of the namespace's modules by name; read forward only.
pub async fn page(
    store: &Store,
    namespace: Uuid,
    window: &Window<String>,
) -> Result<Page<Module>, StoreError> {
    let statement = store.dialect().statement(
        "SELECT name, CAST(sum(schedules) AS bigint) AS schedules, \
           CAST(sum(workflows) AS bigint) AS workflows, max(changed_at) AS changed_at \
         FROM (SELECT module AS name, 1 AS schedules, 0 AS workflows, updated_at AS changed_at \
               FROM schedule \
               WHERE namespace_id = $1 AND module IS NOT NULL AND deleted_at IS NULL \
               UNION ALL \
               SELECT module, 0, 1, updated_at FROM workflow \
               WHERE namespace_id = $1 AND module IS NOT NULL AND deleted_at IS NULL \
               UNION ALL \
               SELECT module, 0, 0, updated_at FROM calendar \
               WHERE namespace_id = $1 AND module IS NOT NULL AND deleted_at IS NULL \
               UNION ALL \
               SELECT module, 0, 0, updated_at FROM concurrency_group \
               WHERE namespace_id = $1 AND module IS NOT NULL \
               UNION ALL \
               SELECT module, 0, 0, updated_at FROM alert_channel \
               WHERE namespace_id = $1 AND module IS NOT NULL \
               UNION ALL \
               SELECT module, 0, 0, updated_at FROM alert_rule \
               WHERE namespace_id = $1 AND module IS NOT NULL) AS declared \
         WHERE name > $2 GROUP BY name ORDER BY name LIMIT $3",
        [
            namespace.into(),
            window.after.clone().unwrap_or_default().into(),
            i64::try_from(window.reach()).unwrap_or(i64::MAX).into(),
        ],
    );
    let rows = Module::find_by_statement(statement).all(store.read()).await?;
    Ok(window.page(rows).counted(|| Total::Asked(Box::new(counting(store, namespace)))))
}

/// The statement that counts the modules.
fn counting(store: &Store, namespace: Uuid) -> Statement {
    let most = i64::try_from(MAX_TOTAL).unwrap_or(i64::MAX);
    store.dialect().statement(
        "SELECT count(*) AS rows FROM (SELECT module FROM ( \
           SELECT module FROM schedule WHERE namespace_id = $1 AND deleted_at IS NULL \
           UNION ALL \
           SELECT module FROM workflow WHERE namespace_id = $1 AND deleted_at IS NULL \
           UNION ALL \
           SELECT module FROM calendar WHERE namespace_id = $1 AND deleted_at IS NULL \
           UNION ALL \
           SELECT module FROM concurrency_group WHERE namespace_id = $1 \
           UNION ALL \
           SELECT module FROM alert_channel WHERE namespace_id = $1 \
           UNION ALL \
           SELECT module FROM alert_rule WHERE namespace_id = $1) AS declared \
         WHERE module IS NOT NULL GROUP BY module LIMIT $2) AS modules",
        [namespace.into(), most.into()],
    )
}
