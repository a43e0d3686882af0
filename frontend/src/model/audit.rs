//! The audit log: who changed what, and why.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Row;
use crate::time::Moment;

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditEvent {
    pub(crate) id: String,
    pub(crate) at: Moment,
    pub(crate) actor: String,
    pub(crate) source: String,
    pub(crate) namespace: Option<String>,
    pub(crate) action: String,
    pub(crate) subject_id: Option<String>,
    pub(crate) subject: String,
    pub(crate) reason: Option<String>,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

impl Row for AuditEvent {
    fn id(&self) -> &str {
        &self.id
    }
}

/// One entry of the audit log.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct AuditRow {
    pub(crate) id: String,
    pub(crate) at: Moment,
    pub(crate) actor: String,
    pub(crate) source: String,
    /// The action, such as `schedule.pause`.
    pub(crate) action: String,
    pub(crate) subject: String,
    pub(crate) reason: Option<String>,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

impl Row for AuditRow {
    fn id(&self) -> &str {
        &self.id
    }
}
