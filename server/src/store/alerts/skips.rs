//! Schedules that skip fires for load, and whether they have recovered.

use std::collections::{BTreeSet, HashMap};

use entity::Timestamp;
use sea_orm::FromQueryResult;
use uuid::Uuid;

use super::standing::AlertRecovery;
use crate::store::{
    Store, StoreError,
    db::bulk::{BulkValues, MAX_ROWS},
    reads::skipped::{SKIPPED_FOR_LOAD, resuming},
};

/// The fires that a schedule has skipped for load since an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippingSchedule {
    /// The key of the schedule.
    pub schedule_id: Uuid,
    /// The namespace of the schedule.
    pub namespace_id: Uuid,
    /// Number of fires.
    pub count: i64,
    /// When the first of them was skipped.
    pub first_at: Timestamp,
    /// When the last of them was skipped.
    pub last_at: Timestamp,
    /// Why, by the words that the ledger stores.
    pub reasons: BTreeSet<String>,
}

/// The schedules of these namespaces that have skipped fires for load after an instant, from the
/// newest `limit` rows.
pub async fn skipping(
    store: &Store,
    namespaces: &[Uuid],
    after: Timestamp,
    limit: u64,
) -> Result<Vec<SkippingSchedule>, StoreError> {
    #[derive(FromQueryResult)]
    struct SkippedFires {
        schedule_id: Uuid,
        namespace_id: Uuid,
        reason: String,
        fires: i64,
        first_at: Timestamp,
        last_at: Timestamp,
    }
    if namespaces.is_empty() {
        return Ok(vec![]);
    }
    let sql = format!(
        "SELECT f.schedule_id, f.namespace_id, f.reason, CAST(sum(f.count) AS bigint) AS fires, \
           min(f.decided_at) AS first_at, max(f.decided_at) AS last_at \
         FROM (SELECT fire.schedule_id, fire.namespace_id, fire.reason, fire.count, \
               fire.decided_at FROM fire \
             WHERE {SKIPPED_FOR_LOAD} AND fire.decided_at > {{0}} \
               AND {} IN (SELECT id FROM v) \
             ORDER BY fire.decided_at DESC LIMIT {{1}}) f \
         GROUP BY f.schedule_id, f.namespace_id, f.reason",
        store.dialect().of_few("fire.namespace_id")
    );
    let values = vec![after.0.into(), limit.cast_signed().into()];
    let namespaces = BulkValues::default().uuid("id", namespaces.iter().copied());
    let statement = namespaces.statement(store.dialect(), &sql, values);
    let mut all: HashMap<Uuid, SkippingSchedule> = HashMap::new();
    for row in SkippedFires::find_by_statement(statement).all(store.read()).await? {
        let one = all.entry(row.schedule_id).or_insert_with(|| SkippingSchedule {
            schedule_id: row.schedule_id,
            namespace_id: row.namespace_id,
            count: 0,
            first_at: row.first_at,
            last_at: row.last_at,
            reasons: BTreeSet::new(),
        });
        one.count += row.fires;
        one.first_at = one.first_at.min(row.first_at);
        one.last_at = one.last_at.max(row.last_at);
        one.reasons.insert(row.reason);
    }
    Ok(all.into_values().collect())
}

/// Whether a schedule starts its fires again, for each (alert, schedule, last skipped fire).
pub async fn resumed(
    store: &Store,
    alerts: &[(Uuid, Uuid, Timestamp)],
) -> Result<Vec<AlertRecovery>, StoreError> {
    let sql = format!(
        "SELECT v.id, ({}) AS mended_at, EXISTS (SELECT 1 FROM schedule \
             WHERE schedule.id = v.schedule_id AND schedule.deleted_at IS NULL) AS lives \
         FROM v",
        resuming("s.decided_at")
    );
    let mut resumed = Vec::new();
    for alerts in alerts.chunks(MAX_ROWS) {
        let statement = BulkValues::default()
            .uuid("id", alerts.iter().map(|alert| alert.0))
            .uuid("schedule_id", alerts.iter().map(|alert| alert.1))
            .int("last_at", alerts.iter().map(|alert| alert.2.0))
            .statement(store.dialect(), &sql, vec![]);
        resumed.extend(AlertRecovery::find_by_statement(statement).all(store.read()).await?);
    }
    Ok(resumed)
}
