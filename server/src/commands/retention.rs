//! How long a namespace keeps its history.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Call, CommandError, Commands, audit::AuditEntry};
use crate::{
    access::Admin,
    engine::maintenance::retention::{self, RemovalPreview},
    model::check,
    store::{
        DatabaseTransaction, namespaces,
        retention::{ProposedRetention, RetentionScope},
        schedules,
    },
};

/// How long a namespace keeps its history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectiveRetention {
    /// The namespace.
    pub namespace: String,
    /// The namespace's own retention; `None` means the server's.
    pub days: Option<i32>,
    /// The effective retention.
    pub effective_days: i32,
}

/// A hypothetical retention for a preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HypotheticalRetention {
    /// The namespace, by name.
    pub namespace: String,
    /// The schedule in it, by name, if the change concerns a schedule.
    pub schedule: Option<String>,
    /// The number of days; `None` removes the namespace's or schedule's own setting.
    pub days: Option<i64>,
}

impl Commands {
    /// Sets how many days a namespace keeps settled history; `None` restores the server's default.
    /// The next retention round removes older history.
    pub async fn set_retention(
        &self,
        right: &Admin,
        namespace: &str,
        days: Option<i64>,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<EffectiveRetention, CommandError> {
        let days = check::check_days("days", days)?;
        check::optional_reason(reason)?;
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
    ) -> Result<EffectiveRetention, CommandError> {
        let id = self.namespace(tx, right.permit(), namespace).await?;
        let before = namespaces::set_retention(tx, id, days).await?;
        let entry = AuditEntry {
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
        Ok(EffectiveRetention { namespace: namespace.to_owned(), days, effective_days })
    }

    /// The rows that the next retention round would remove, now or under the retention in
    /// `thought`. Covers all namespaces or the named one. Callers who do not administer the
    /// instance see only one namespace, by default that of `thought`.
    pub async fn retention_preview(
        &self,
        right: &Admin,
        namespace: Option<&str>,
        thought: Option<&HypotheticalRetention>,
    ) -> Result<RemovalPreview, CommandError> {
        let instance = right.who().owner();
        let of_thought = thought.map(|thought| &*thought.namespace);
        let within = match (namespace.or(of_thought.filter(|_| instance.is_err())), instance) {
            (Some(name), _) => Some(self.namespace(self.store.read(), right.permit(), name).await?),
            (None, Ok(_)) => None,
            (None, Err(refused)) => return Err(refused.into()),
        };
        let instead = match thought {
            Some(thought) => Some(self.instead(right, thought).await?),
            None => None,
        };
        let (settings, now) = (&self.retention, self.clock.now());
        Ok(retention::preview(settings, &self.store, now, instead, within).await?)
    }

    async fn instead(
        &self,
        right: &Admin,
        thought: &HypotheticalRetention,
    ) -> Result<ProposedRetention, CommandError> {
        let HypotheticalRetention { namespace: name, schedule, days } = thought;
        let (read, days) = (self.store.read(), check::check_days("days", *days)?);
        let namespace = self.namespace(read, right.permit(), name).await?;
        let Some(name) = schedule else {
            return Ok(ProposedRetention { whose: RetentionScope::Namespace(namespace), days });
        };
        let found = schedules::by_name(read, namespace, name).await?;
        let found = found.ok_or_else(|| CommandError::not_found("schedule", name))?;
        Ok(ProposedRetention { whose: RetentionScope::Schedule(found.id), days })
    }
}
