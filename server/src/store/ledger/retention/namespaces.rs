//! Removes what is in namespaces that were deleted a week ago.

use entity::Timestamp;
use sea_orm::ConnectionTrait;

use super::{DELETED_DAYS, rule::before};
use crate::store::{DatabaseTransaction, Store, StoreError};

/// The tables whose rows are removed with their namespace, each with its key and the condition that
/// a row is in one of `{gone}`. History and schedules are removed before, as retention removes them.
const TABLES: [(&str, &str, &str); 17] = [
    ("secret", "id", "namespace_id IN ({gone})"),
    ("api_token", "id", "namespace_id IN ({gone})"),
    ("calendar_feed", "id", "namespace_id IN ({gone})"),
    ("membership", "user_id, namespace_id", "namespace_id IN ({gone})"),
    ("module", "namespace_id, name", "namespace_id IN ({gone})"),
    ("notification", "id", "namespace_id IN ({gone})"),
    ("alert", "id", "namespace_id IN ({gone})"),
    ("alert_rule", "id", "namespace_id IN ({gone})"),
    ("alert_channel", "id", "namespace_id IN ({gone})"),
    ("worker_queue", "id", "namespace_id IN ({gone})"),
    ("maintenance_window", "id", "namespace_id IN ({gone})"),
    ("health_budget", "id", "namespace_id IN ({gone})"),
    (
        "calendar_version",
        "calendar_id, version",
        "calendar_id IN (SELECT id FROM calendar WHERE namespace_id IN ({gone}))",
    ),
    ("calendar", "id", "namespace_id IN ({gone})"),
    ("concurrency_group", "id", "namespace_id IN ({gone})"),
    ("history_stat", "namespace_id, period, days", "namespace_id IN ({gone})"),
    ("run_stat", "namespace_id, minute", "namespace_id IN ({gone})"),
];

/// Selects the namespaces whose week is over and that have no schedules left.
const GONE: &str = "SELECT n.id FROM namespace n WHERE n.deleted_at < $1 AND n.purged_at IS NULL \
    AND NOT EXISTS (SELECT 1 FROM schedule s WHERE s.namespace_id = n.id)";

impl Store {
    /// Advances the removal of deleted namespaces at `now`: deletes schedules that were created
    /// during the deletion, and lets retention remove the history and the definitions of namespaces
    /// whose week is over.
    pub async fn end_namespaces(
        &self,
        tx: &DatabaseTransaction,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let week = before(now.0, DELETED_DAYS);
        let stamp = self.dialect().stamp("schedule");
        let over = "(SELECT id FROM namespace WHERE deleted_at < $1 AND purged_at IS NULL)";
        let strays = format!(
            "UPDATE schedule SET deleted_at = $1, updated_at = $1, enabled = false, \
               paused_until = NULL, paused_missed = NULL, paused_window_id = NULL, \
               pause_from = NULL, pause_window_id = NULL, \
               changed = {stamp} WHERE deleted_at IS NULL AND namespace_id IN \
               (SELECT id FROM namespace WHERE deleted_at IS NOT NULL AND purged_at IS NULL)"
        );
        let definitions = format!(
            "UPDATE workflow SET deleted_at = $2 \
             WHERE deleted_at IS NULL AND namespace_id IN {over}"
        );
        let retentions = format!(
            "UPDATE schedule SET retention_days = NULL \
             WHERE retention_days IS NOT NULL AND namespace_id IN {over}"
        );
        let history = "UPDATE namespace SET retention_days = 0 WHERE deleted_at < $1 \
             AND purged_at IS NULL AND (retention_days IS NULL OR retention_days <> 0)";
        for (sql, values) in [
            (strays, vec![now.0.into()]),
            (definitions, vec![week.into(), (week - 1).into()]),
            (retentions, vec![week.into()]),
            (history.to_owned(), vec![week.into()]),
        ] {
            tx.execute_raw(self.dialect().statement(sql, values)).await?;
        }
        Ok(())
    }

    /// Removes up to `limit` rows that belong to namespaces whose week is over at `now`. Returns
    /// their number. When nothing is left of a namespace, its row no longer counts.
    pub async fn remove_of_namespaces(
        &self,
        tx: &DatabaseTransaction,
        now: Timestamp,
        limit: u64,
    ) -> Result<u64, StoreError> {
        let week = before(now.0, DELETED_DAYS);
        for (table, key, condition) in TABLES {
            let condition = condition.replace("{gone}", GONE);
            let sql = format!(
                "DELETE FROM {table} WHERE ({key}) IN \
                   (SELECT {key} FROM {table} WHERE {condition} LIMIT $2)"
            );
            let values = [week.into(), limit.cast_signed().into()];
            let removed = tx.execute_raw(self.dialect().statement(sql, values)).await?;
            if removed.rows_affected() > 0 {
                return Ok(removed.rows_affected());
            }
        }
        // Only now is nothing left in these tables. Afterwards, nothing would look for it again.
        let over = "UPDATE namespace SET purged_at = $2, retention_days = NULL, quotas = NULL \
             WHERE deleted_at < $1 AND purged_at IS NULL \
               AND NOT EXISTS (SELECT 1 FROM schedule WHERE schedule.namespace_id = namespace.id) \
               AND NOT EXISTS (SELECT 1 FROM run WHERE run.namespace_id = namespace.id) \
               AND NOT EXISTS (SELECT 1 FROM fire WHERE fire.namespace_id = namespace.id)";
        let values = [week.into(), now.0.into()];
        tx.execute_raw(self.dialect().statement(over, values)).await?;
        Ok(0)
    }
}
