//! How long a namespace keeps its history.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Admin, BadInput, Call, CommandError, Commands, Owner, audit::Entry, check};
use crate::{
    engine::retention::{self, Preview},
    store::{DatabaseTransaction, namespaces},
};

/// How long a namespace keeps its history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The namespace.
    pub namespace: String,
    /// Its own retention; none is the server's.
    pub days: Option<i32>,
    /// The one that holds.
    pub effective_days: i32,
}

/// Checks a retention of somebody.
pub(super) fn check_days(field: &str, days: Option<i64>) -> Result<Option<i32>, BadInput> {
    if let Some(days) = days {
        check::number(field, days, 1..=3_650, "days")?;
    }
    Ok(days.and_then(|days| i32::try_from(days).ok()))
}

impl Commands {
    /// Says for how many days a namespace keeps what has settled; none is as the server is
    /// configured. What is older goes with the next round.
    pub async fn set_retention(
        &self,
        right: &Admin,
        namespace: &str,
        days: Option<i64>,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Kept, CommandError> {
        let days = check_days("days", days)?;
        if let Some(reason) = reason {
            check::text("reason", reason, 500)?;
        }
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let kept = self.set_retention_in(&tx, right, namespace, days, reason).await?;
        self.remember(&tx, right.who(), call, &kept).await?;
        self.store.commit(tx).await?;
        Ok(kept)
    }

    async fn set_retention_in(
        &self,
        tx: &DatabaseTransaction,
        right: &Admin,
        namespace: &str,
        days: Option<i32>,
        reason: Option<&str>,
    ) -> Result<Kept, CommandError> {
        let id = self.namespace(tx, right.permit(), namespace).await?;
        let before = namespaces::set_retention(tx, id, days).await?;
        let entry = Entry {
            action: "namespace.retention",
            namespace: Some(id),
            subject_id: Some(id),
            subject: namespace,
            reason,
            before: Some(json!({ "retentionDays": before })),
            after: Some(json!({ "retentionDays": days })),
        };
        self.audit(tx, right.who(), entry).await?;
        let effective_days = days.unwrap_or(self.retention.days);
        Ok(Kept { namespace: namespace.to_owned(), days, effective_days })
    }

    /// What the next round of retention would remove.
    pub async fn retention_preview(&self, _right: &Owner) -> Result<Preview, CommandError> {
        Ok(retention::preview(&self.retention, &self.store, self.clock.now()).await?)
    }
}
