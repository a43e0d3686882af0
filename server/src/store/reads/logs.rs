//! Reads the log lines of a run, oldest first.

use entity::task_log::Model;
use sea_orm::Statement;
use uuid::Uuid;

use crate::store::{MAX_TOTAL, Page, PageWindow, Store, StoreError, Total};

/// A page of a run's lines. The key of a line is its number.
pub async fn page(
    store: &Store,
    run: Uuid,
    window: &PageWindow<i64>,
) -> Result<Page<Model>, StoreError> {
    let after = window.after.unwrap_or(i64::MIN);
    let lines = store.lines_after(run, after, window.reach()).await?;
    Ok(window.page(lines).counted(|| Total::Asked(Box::new(counting(store, run)))))
}

/// The statement that counts a run's lines.
/// A row contains one line, or several lines separated by line feeds.
fn counting(store: &Store, run: Uuid) -> Statement {
    let most = i64::try_from(MAX_TOTAL).unwrap_or(i64::MAX);
    store.dialect().statement(
        "SELECT CAST(coalesce(sum(CASE WHEN lines IS NULL THEN 1 \
           ELSE 1 + length(text) - length(replace(text, $2, '')) END), 0) AS bigint) AS rows \
         FROM (SELECT text, lines FROM task_log WHERE run_id = $1 LIMIT $3) AS some",
        [run.into(), "\n".into(), most.into()],
    )
}
