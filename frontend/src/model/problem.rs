//! Problems, grouped by schedule and error.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{ProblemKind, ReasonCode, RunState, run::ZoneRef};
use crate::time::Moment;

/// The failures of a schedule with the same error, or its lost fires with the same reason.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkProblem {
    pub(crate) kind: ProblemKind,
    pub(crate) schedule: ProblemSchedule,
    pub(crate) count: i64,
    pub(crate) since: Moment,
    pub(crate) last: Moment,
    pub(crate) error: Option<String>,
    pub(crate) reason: Option<ReasonCode>,
    pub(crate) last_run: Option<LastRun>,
    /// Whether it is still open.
    pub(crate) is_open: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ProblemSchedule {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) timing: ZoneRef,
    pub(crate) pause: Option<PauseReason>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct PauseReason {
    pub(crate) reason: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct LastRun {
    pub(crate) id: String,
    pub(crate) state: RunState,
}

impl WorkProblem {
    /// How many schedules are failing now, and how many are losing fires; each counts once.
    pub(crate) fn schedules(problems: &[Self]) -> [usize; 2] {
        [ProblemKind::Failing, ProblemKind::LosingFires].map(|kind| {
            let open = problems.iter().filter(|problem| problem.kind == kind && problem.is_open);
            open.map(|problem| problem.schedule.id.as_str()).collect::<BTreeSet<_>>().len()
        })
    }

    /// The same key as long as it is the same problem.
    pub(crate) fn key(&self) -> String {
        let words = self.error.clone().unwrap_or_default();
        format!("{}/{:?}/{words}", self.schedule.id, self.reason)
    }
}
