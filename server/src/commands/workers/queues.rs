use entity::worker_queue::{ActiveModel, Model};
use sea_orm::Set;
use serde_json::json;
use uuid::Uuid;

use crate::{
    access::Editor,
    commands::{BadInput, Call, CommandError, Commands, audit::AuditEntry},
    random::new_id,
    store::{DatabaseTransaction, workers::queues},
    target::is_queue_name,
};

/// Maximum number of limited queues in a namespace.
pub(crate) const MAX_LIMITED: u64 = 500;
const MAX_JOBS: i64 = 10_000;

impl Commands {
    /// Sets the maximum number of jobs of a queue that all workers together may hold at once;
    /// removes the limit if `max_jobs` is `None`. Jobs beyond a lowered limit continue. Returns the
    /// namespace.
    pub async fn limit_worker_queue(
        &self,
        right: &Editor,
        namespace: &str,
        name: &str,
        max_jobs: Option<i64>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        if !is_queue_name(name) {
            let help = "write 1 to 64 of a-z 0-9 . _ -";
            return Err(BadInput::new("name", name, "is not a valid queue name", help).into());
        }
        if let Some(limit) = max_jobs.filter(|limit| !(1..=MAX_JOBS).contains(limit)) {
            let help = "give 1 to 10000, or nothing for no limit";
            return Err(BadInput::new("maxJobs", limit, "is out of range", help).into());
        }
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), namespace).await?;
        let before = queues::lock_limit(&tx, namespace, name).await?;
        let max_jobs = max_jobs.and_then(|limit| i32::try_from(limit).ok());
        let id = self.set_limit(&tx, namespace, name, before.as_ref(), max_jobs).await?;
        let limit = |limit: Option<i32>| Some(json!({ "maxJobs": limit }));
        let entry = AuditEntry {
            namespace: Some(namespace),
            action: "worker_queue.limit",
            subject_id: id,
            subject: name,
            before: limit(before.map(|row| row.max_jobs)),
            after: limit(max_jobs),
            ..AuditEntry::default()
        };
        self.audit(&tx, right.who(), entry).await?;
        self.remember(&tx, right.who(), call, &namespace).await?;
        // The commit wakes waiting workers, because the new limit may leave room for waiting jobs.
        self.store.commit(tx).await?;
        Ok(namespace)
    }

    /// Sets or removes the limit. Returns the key of the limit, even if it was removed.
    async fn set_limit(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        name: &str,
        before: Option<&Model>,
        max_jobs: Option<i32>,
    ) -> Result<Option<Uuid>, CommandError> {
        let now = self.clock.now();
        let Some(max_jobs) = max_jobs else {
            if let Some(row) = before {
                queues::remove_limit(tx, row.id).await?;
            }
            return Ok(before.map(|row| row.id));
        };
        if before.is_none() {
            let limited = queues::limited(tx, namespace, MAX_LIMITED).await?.len();
            if u64::try_from(limited).unwrap_or(u64::MAX) >= MAX_LIMITED {
                let help = "remove the limit of another queue first";
                let problem = format!("the namespace has {MAX_LIMITED} limited queues");
                return Err(CommandError::conflict(problem, help));
            }
        }
        let id = before.map_or_else(|| new_id(now), |row| row.id);
        let row = ActiveModel {
            id: Set(id),
            namespace_id: Set(namespace),
            name: Set(name.to_owned()),
            max_jobs: Set(max_jobs),
            updated_at: Set(now.into()),
        };
        queues::limit(tx, row).await?;
        Ok(Some(id))
    }
}
