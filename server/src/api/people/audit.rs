use async_graphql::{InputObject, SimpleObject};
use uuid::Uuid;

use crate::{api::scalar::Instant, commands::NamedAuditEvent, store::audit};

/// A change: who made it, when, from where and why.
#[derive(SimpleObject)]
pub(crate) struct AuditEvent {
    id: Uuid,
    /// When the change was made.
    at: Instant,
    /// A user's name, a token's name after its owner's, `cli` or `system`.
    actor: String,
    /// An IP address, or `cli`.
    source: String,
    /// The namespace that the event concerns.
    namespace: Option<String>,
    /// The action, such as `schedule.pause`.
    action: String,
    /// The id of the object that was changed.
    subject_id: Option<Uuid>,
    /// The subject's name at that time.
    subject: String,
    /// The reason that the actor gave.
    reason: Option<String>,
    /// The state before the change, with secrets masked.
    before: Option<serde_json::Value>,
    /// The state after the change, with secrets masked.
    after: Option<serde_json::Value>,
}

impl From<NamedAuditEvent> for AuditEvent {
    fn from(NamedAuditEvent { row, namespace }: NamedAuditEvent) -> Self {
        Self {
            id: row.id,
            at: row.at.into(),
            actor: row.actor,
            source: row.source,
            namespace,
            action: row.action,
            subject_id: row.subject_id,
            subject: row.subject,
            reason: row.reason,
            before: row.before,
            after: row.after,
        }
    }
}

/// Selects audit events.
#[derive(InputObject, Default)]
pub(crate) struct AuditFilter {
    /// The actor as the event names it: a user, `user/token`, `cli` or `system`.
    actor: Option<String>,
    /// The action, such as `schedule.pause`.
    action: Option<String>,
    /// The first part of an action: `schedule`, `run`, `user`, `token`.
    kind: Option<String>,
    /// The id of the object that was changed.
    subject_id: Option<Uuid>,
    /// The subject's name.
    subject: Option<String>,
    /// Only events at this instant or later.
    after: Option<Instant>,
    /// Only events before this instant.
    before: Option<Instant>,
}

impl From<AuditFilter> for audit::Filter {
    fn from(filter: AuditFilter) -> Self {
        Self {
            namespace: None,
            actor: filter.actor,
            action: filter.action,
            kind: filter.kind,
            subject_id: filter.subject_id,
            subject: filter.subject,
            after: filter.after.map(Into::into),
            before: filter.before.map(Into::into),
        }
    }
}
