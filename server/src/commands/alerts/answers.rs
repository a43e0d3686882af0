use uuid::Uuid;

use crate::{
    access::Operator,
    commands::{Call, CommandError, Commands, audit::AuditEntry},
    store::alerts::outbox,
};

impl Commands {
    /// Sends again a message that was given up on.
    pub async fn retry_notification(
        &self,
        right: &Operator,
        id: Uuid,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = outbox::by_id(&tx, id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("notification", id))?;
        right.permit().over(row.namespace_id, "notification", id)?;
        if !outbox::revive(&tx, &row, self.clock.now().into()).await? {
            let problem = "the notification was not given up";
            return Err(CommandError::conflict(problem, "wait until it is sent, or given up"));
        }
        let entry = AuditEntry {
            action: "notification.retry",
            namespace: Some(row.namespace_id),
            subject_id: Some(id),
            subject: &row.subject,
            ..AuditEntry::default()
        };
        self.audit(&tx, right.who(), entry).await?;
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit(tx).await?;
        Ok(id)
    }
}
