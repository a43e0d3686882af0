//! The audit log's entries, written in the transaction of the change that they describe.

use entity::{Timestamp, audit_event};
use sea_orm::Set;
use serde_json::Value;
use uuid::Uuid;

use super::Commands;
use crate::{
    access::Viewer,
    random::new_id,
    store::{DatabaseTransaction, StoreError, audit},
};

/// An action, its object, and the reason for it. Secrets are masked before they get here.
#[derive(Debug, Default)]
pub(crate) struct AuditEntry<'a> {
    pub(crate) action: &'static str,
    pub(crate) namespace: Option<Uuid>,
    pub(crate) subject_id: Option<Uuid>,
    pub(crate) subject: &'a str,
    pub(crate) reason: Option<&'a str>,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

impl Commands {
    /// Records what `who` did.
    pub(crate) async fn audit(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        entry: AuditEntry<'_>,
    ) -> Result<(), StoreError> {
        audit::insert(tx, self.entry(who, entry)).await
    }

    /// The row that records what `who` did.
    pub(super) fn entry(&self, who: &Viewer, entry: AuditEntry<'_>) -> audit_event::ActiveModel {
        let now = self.clock.now();
        audit_event::ActiveModel {
            id: Set(new_id(now)),
            namespace_id: Set(entry.namespace),
            at: Set(Timestamp::from(now)),
            actor: Set(who.name.clone()),
            source: Set(who.source.clone()),
            action: Set(entry.action.to_owned()),
            subject_id: Set(entry.subject_id),
            subject: Set(entry.subject.to_owned()),
            reason: Set(entry.reason.map(str::to_owned).or_else(|| who.reason.clone())),
            before: Set(entry.before),
            after: Set(entry.after),
        }
    }
}
