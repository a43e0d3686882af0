//! The number of schedules and waiting runs.

use entity::Timestamp;
use sea_orm::FromQueryResult;

use crate::store::{Store, StoreError};

/// The sizes of an installation, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct Sizes {
    /// Number of schedules that are not deleted.
    pub schedules: i64,
    /// Number of schedules that will fire.
    pub active: i64,
    /// Number of runs that wait for a place.
    pub queued: i64,
}

impl Store {
    /// Reads the sizes. They are counted row by row, so call this rarely.
    pub async fn sizes(&self, now: Timestamp) -> Result<Sizes, StoreError> {
        let sql = "SELECT \
             (SELECT count(*) FROM schedule WHERE deleted_at IS NULL) AS schedules, \
             (SELECT count(*) FROM schedule \
               WHERE enabled AND next_fire_at IS NOT NULL) AS active, \
             (SELECT count(*) FROM run \
               WHERE state IN ('queued', 'running', 'retrying') \
                 AND state IN ('queued', 'retrying') AND available_at <= $1) AS queued";
        let statement = self.dialect().statement(sql, [now.0.into()]);
        Ok(Sizes::find_by_statement(statement).one(self.read()).await?.unwrap_or_default())
    }
}
