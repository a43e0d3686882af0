//! Namespaces, their quotas, and how long they keep settled history.

use serde::Deserialize;

use super::{Role, Row};
use crate::time::Moment;

/// A namespace in which the user has a role.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Namespace {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) retention_days: Option<i64>,
    pub(crate) created_at: Moment,
    pub(crate) role: Option<Role>,
    pub(crate) quotas: Quotas,
}

impl Row for Namespace {
    fn id(&self) -> &str {
        &self.id
    }
}

/// What the server permits in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NamespaceTargets {
    pub(crate) name: String,
    /// Whether its tasks may run programs.
    pub(crate) runs_programs: bool,
    /// Whether the server has a key for secrets, so that secrets can be set.
    pub(crate) secrets_available: bool,
}

/// The namespace's quotas.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Quotas {
    pub(crate) schedules: Quota,
    pub(crate) fires_a_minute: Quota,
    pub(crate) live_runs: Quota,
    pub(crate) log_bytes_a_day: Quota,
    pub(crate) log_bytes_a_run: Quota,
    pub(crate) log_bytes: Quota,
    pub(crate) history_rows: Quota,
    /// The instant before which the quota of rows has removed history.
    pub(crate) history_since: Option<Moment>,
}

/// The usage and limit of one quota.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(crate) struct Quota {
    pub(crate) used: i64,
    pub(crate) limit: Option<i64>,
    /// The namespace's own limit; null if the server's configuration applies.
    pub(crate) own: Option<i64>,
}

/// What the deletion of a namespace would affect.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NamespaceImpact {
    pub(crate) schedules: i64,
    pub(crate) workflows: i64,
    pub(crate) secrets: i64,
    pub(crate) members: i64,
    pub(crate) tokens: i64,
    pub(crate) live_runs: i64,
}

/// A deleted namespace that can be restored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeletedNamespace {
    pub(crate) name: String,
    pub(crate) deleted_at: Moment,
    pub(crate) deleted_by: Option<String>,
    pub(crate) kept_until: Moment,
}

/// How long a namespace keeps settled history.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Retention {
    pub(crate) days: Option<i64>,
    pub(crate) effective_days: i64,
    pub(crate) schedules: Vec<OwnRetention>,
}

/// A schedule with a retention of its own.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct OwnRetention {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) days: i64,
}

/// The rows that retention would remove.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct RetentionPreview {
    pub(crate) tables: Vec<Figure>,
}

/// The number of rows of one table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Figure {
    pub(crate) table: String,
    pub(crate) rows: i64,
    pub(crate) estimated_bytes: i64,
    pub(crate) oldest: Option<Moment>,
    pub(crate) newest: Option<Moment>,
}
