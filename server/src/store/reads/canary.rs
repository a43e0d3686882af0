//! The canary: the server's own schedule, which measures the lateness of fires.

use entity::Timestamp;
use sea_orm::FromQueryResult;

use crate::store::{Store, StoreError};

/// The name of the canary's namespace.
pub const NAMESPACE: &str = "carillon-canary";
/// The name of the canary's schedule.
pub const NAME: &str = "canary";

/// An enabled canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromQueryResult)]
pub struct EnabledCanary {
    /// Since when the canary has existed or been enabled.
    pub since: Timestamp,
    /// When the canary's last successful fire was due.
    pub due_at: Option<Timestamp>,
    /// When the run of that fire settled.
    pub finished_at: Option<Timestamp>,
}

impl Store {
    /// The canary; `None` if there is none or it is not enabled.
    pub async fn canary(&self) -> Result<Option<EnabledCanary>, StoreError> {
        // The last successful run is the last one by key, or close to the last.
        let sql = "WITH its AS (SELECT s.id, s.updated_at FROM schedule s \
               JOIN namespace n ON n.id = s.namespace_id \
               WHERE n.name = $1 AND s.name = $2 AND lower(s.name) = $2 \
                 AND s.deleted_at IS NULL AND s.enabled), \
             last AS (SELECT r.due_at, r.finished_at FROM run r \
               WHERE r.schedule_id = (SELECT id FROM its) AND r.state = 'succeeded' \
                 AND r.trigger = 'schedule' ORDER BY r.id DESC LIMIT 1) \
             SELECT its.updated_at AS since, last.due_at, last.finished_at \
             FROM its LEFT JOIN last ON true";
        let statement = self.dialect().statement(sql, [NAMESPACE.into(), NAME.into()]);
        Ok(EnabledCanary::find_by_statement(statement).one(self.read()).await?)
    }
}
