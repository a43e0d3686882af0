//! A row of the ledger.

use serde::Deserialize;

use super::{FireKind, Row, RunState, Verdict};
use crate::time::Moment;

/// One fire, or many instants that share one row.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Fire {
    pub(crate) id: String,
    pub(crate) schedule_version: i64,
    pub(crate) scheduled_at: Moment,
    /// The scheduled time, with jitter added.
    pub(crate) due_at: Moment,
    pub(crate) claimed_at: Moment,
    pub(crate) decided_at: Option<Moment>,
    /// The node that claimed the fire.
    pub(crate) node: Option<String>,
    pub(crate) local: String,
    pub(crate) offset: String,
    pub(crate) kind: FireKind,
    pub(crate) verdict: Verdict,
    pub(crate) reason: Reason,
    pub(crate) count: i64,
    pub(crate) last_scheduled_at: Moment,
    pub(crate) recovery_attempts: i64,
    pub(crate) run: Option<FireRun>,
}

/// Why a fire got its verdict.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Reason {
    pub(crate) text: String,
}

/// The run that a fire started.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FireRun {
    pub(crate) id: String,
    pub(crate) state: RunState,
    pub(crate) started_at: Option<Moment>,
    pub(crate) node: Option<String>,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) lateness_ms: Option<i64>,
}

impl Row for Fire {
    fn id(&self) -> &str {
        &self.id
    }
}
