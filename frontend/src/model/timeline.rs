//! What schedules did and will do in a range of time: a lane for each.

use serde::Deserialize;

use super::{ReasonCode, Row, RunState, UpcomingSchedule, Verdict};
use crate::time::Moment;

/// One schedule.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Lane {
    pub(crate) schedule: UpcomingSchedule,
    /// How long a run usually takes, if that is known.
    pub(crate) usual_ms: Option<i64>,
    /// The instants at which an earlier run was alive.
    pub(crate) overlaps: Vec<Moment>,
    pub(crate) is_complete: bool,
    /// The runs one by one; empty if there are many.
    pub(crate) runs: Vec<LaneRun>,
    /// Many runs, as bars.
    pub(crate) folds: Vec<LaneFold>,
    /// The fires without a run.
    pub(crate) marks: Vec<LaneMark>,
    /// The upcoming fires.
    pub(crate) planned: Vec<LanePlan>,
}

impl Row for Lane {
    fn id(&self) -> &str {
        &self.schedule.id
    }
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LaneRun {
    pub(crate) id: String,
    pub(crate) state: RunState,
    pub(crate) created_at: Moment,
    pub(crate) started_at: Option<Moment>,
    pub(crate) finished_at: Option<Moment>,
}

/// Many runs as one bar.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct LaneFold {
    pub(crate) from: Moment,
    pub(crate) to: Moment,
    pub(crate) runs: i64,
    pub(crate) failed: i64,
    pub(crate) live: i64,
}

/// Fires without a run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LaneMark {
    pub(crate) at: Moment,
    pub(crate) last_at: Moment,
    pub(crate) verdict: Verdict,
    /// Why they have no run, if all have the same reason.
    pub(crate) reason: Option<ReasonCode>,
    pub(crate) fires: i64,
}

/// An upcoming fire, or many.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct LanePlan {
    pub(crate) at: Moment,
    pub(crate) to: Option<Moment>,
    pub(crate) starts: i64,
}

/// How many runs were executed at once.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunsAtOnce {
    pub(crate) from: Moment,
    pub(crate) step_seconds: i64,
    /// The largest number in each step.
    pub(crate) peaks: Vec<i64>,
    pub(crate) is_complete: bool,
}
