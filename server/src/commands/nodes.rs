//! Nodes: draining them for maintenance, and returning them to service.

use serde_json::json;
use uuid::Uuid;

use super::{Call, CommandError, Commands, audit::AuditEntry};
use crate::{access::Owner, model::check, store::nodes::Drain};

impl Commands {
    /// Drains a node: it claims nothing and takes no runs. Its current work continues, and the node
    /// stays a member until it stops or is undrained.
    pub async fn drain_node(
        &self,
        right: &Owner,
        id: Uuid,
        reason: &str,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::reason("reason", reason)?;
        let by = right.who().name.clone();
        let drain = Drain { by, reason: reason.trim().to_owned() };
        self.set_drain(right, id, Some(drain), Some(reason), call).await
    }

    /// Returns a drained node to service.
    pub async fn undrain_node(
        &self,
        right: &Owner,
        id: Uuid,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::optional_reason(reason)?;
        self.set_drain(right, id, None, reason, call).await
    }

    async fn set_drain(
        &self,
        right: &Owner,
        id: Uuid,
        drain: Option<Drain>,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        let who = right.who();
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        let before = self.store.set_drain_if_alive(&tx, id, drain.as_ref()).await?;
        let before = before.ok_or_else(|| CommandError::not_found("living node", id))?;
        let entry = AuditEntry {
            action: if drain.is_some() { "node.drain" } else { "node.undrain" },
            subject_id: Some(id),
            subject: &before.name,
            reason,
            before: Some(json!({ "drained": before.drained_at.is_some() })),
            after: Some(json!({ "drained": drain.is_some() })),
            ..AuditEntry::default()
        };
        self.audit(&tx, who, entry).await?;
        self.remember(&tx, who, call, &id).await?;
        self.store.commit(tx).await?;
        self.signals.wake_pulse();
        Ok(id)
    }
}
