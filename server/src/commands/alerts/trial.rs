use entity::notification::{self, State};
use sea_orm::Set;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    access::Editor,
    commands::{Call, CommandError, Commands, audit::AuditEntry},
    engine::alerting::alerts::test_body,
    random::new_id,
    store::{alerts::outbox, namespaces},
};

/// A queued test message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestSent {
    /// The message.
    pub notification: Uuid,
}

impl Commands {
    /// Sends a message that says that it is a test. The state of the message shows the result.
    pub async fn test_alert_channel(
        &self,
        right: &Editor,
        id: Uuid,
        call: &Call,
    ) -> Result<TestSent, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.locked_channel(&tx, right.permit(), id).await?;
        // Only one test at a time. After a change of the channel, another is allowed, because it
        // tests that change.
        if outbox::is_being_tested(&tx, id, row.updated_at).await? {
            let problem = "a test of this channel is in progress";
            let help = "wait until it was sent or given up, or change the channel";
            return Err(CommandError::conflict(problem, help));
        }
        let now = self.clock.now();
        let namespace = namespaces::by_ids(&tx, &[row.namespace_id]).await?.pop();
        let namespace = namespace.map(|row| row.name).unwrap_or_default();
        let (subject, body) = test_body(&namespace, &row.name, &right.who().name);
        let message = notification::ActiveModel {
            id: Set(new_id(now)),
            namespace_id: Set(row.namespace_id),
            rule_id: Set(None),
            channel_id: Set(id),
            state: Set(State::Pending),
            subject: Set(subject),
            body: Set(body),
            alerts: Set(0),
            attempts: Set(0),
            next_attempt_at: Set(now.into()),
            error: Set(None),
            progress: Set(None),
            created_at: Set(now.into()),
            settled_at: Set(None),
        };
        let sent = TestSent { notification: *message.id.as_ref() };
        outbox::add(&tx, vec![message]).await?;
        let entry = AuditEntry {
            action: "alert_channel.test",
            namespace: Some(row.namespace_id),
            subject_id: Some(id),
            subject: &row.name,
            ..AuditEntry::default()
        };
        self.audit(&tx, right.who(), entry).await?;
        self.remember(&tx, right.who(), call, &sent).await?;
        self.store.commit(tx).await?;
        Ok(sent)
    }
}
