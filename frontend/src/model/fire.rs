//! A row of the ledger.

use super::{FireKind, Keyed, ReasonCode, RunState, Verdict};
use crate::time::Moment;

/// One fire, or many instants that were accounted for at once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fire {
    pub(crate) id: String,
    pub(crate) schedule_version: i64,
    pub(crate) scheduled_at: Moment,
    pub(crate) local: String,
    pub(crate) offset: String,
    pub(crate) kind: FireKind,
    pub(crate) verdict: Verdict,
    pub(crate) code: ReasonCode,
    pub(crate) reason: String,
    pub(crate) count: i64,
    pub(crate) last_scheduled_at: Moment,
    pub(crate) recovery_attempts: i64,
    pub(crate) run: Option<FireRun>,
}

/// The run that a fire started.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FireRun {
    pub(crate) id: String,
    pub(crate) state: RunState,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) lateness_ms: Option<i64>,
    pub(crate) attempt: i64,
    pub(crate) max_attempts: i64,
    pub(crate) error: Option<String>,
}

impl Keyed for Fire {
    fn key(&self) -> &str {
        &self.id
    }
}
