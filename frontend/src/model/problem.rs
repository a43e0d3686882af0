//! Problems, grouped by schedule and error.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{ProblemKind, ReasonCode, RunState, run::ZoneRef};
use crate::time::Moment;

/// The failures of a schedule with the same error, or its lost or skipped fires with the same reason.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorkProblem {
    pub(crate) id: String,
    pub(crate) kind: ProblemKind,
    pub(crate) schedule: ProblemSchedule,
    pub(crate) count: i64,
    /// For skipped fires: how many were due, unless these are too many to count.
    pub(crate) expected: Option<i64>,
    pub(crate) since: Moment,
    pub(crate) last: Moment,
    pub(crate) error: Option<String>,
    pub(crate) reason: Option<ReasonCode>,
    pub(crate) last_run: Option<LastRun>,
    /// Whether the problem is still open.
    pub(crate) is_open: bool,
    pub(crate) acknowledgement: Option<Acknowledgement>,
}

/// Who acknowledged a problem.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Acknowledgement {
    pub(crate) at: Moment,
    pub(crate) by: String,
    pub(crate) note: Option<String>,
    pub(crate) until: Option<Moment>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ProblemSchedule {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
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
    /// How many schedules are currently failing, how many are losing fires, and how many are skipping
    /// them for load. Each schedule counts once.
    pub(crate) fn schedules(problems: &[Self]) -> [usize; 3] {
        [ProblemKind::Failing, ProblemKind::LosingFires, ProblemKind::SkippingFires].map(|kind| {
            let open = problems.iter().filter(|problem| problem.kind == kind && problem.is_open);
            open.map(|problem| problem.schedule.id.as_str()).collect::<BTreeSet<_>>().len()
        })
    }
}
