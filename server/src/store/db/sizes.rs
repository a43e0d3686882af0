//! The number of schedules and waiting runs.

use entity::Timestamp;
use sea_orm::FromQueryResult;

use crate::store::{Store, StoreError};

/// The number of schedules and waiting runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromQueryResult)]
pub struct Sizes {
    /// Schedules that are not deleted.
    pub schedules: i64,
    /// Schedules that will fire.
    pub active: i64,
    /// Runs that wait for a place.
    pub queued: i64,
}

impl Store {
    /// Reads the sizes. This counts rows, so call it rarely.
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
