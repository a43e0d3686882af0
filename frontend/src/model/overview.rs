//! The data of the overview.

use serde::Deserialize;

use super::{Named, NodeState, RunForecast, RunState};
use crate::time::Moment;

/// Everything that the overview loads in one request.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct OverviewAnswer {
    pub(crate) overview: Overview,
    pub(crate) health: Health,
}

/// The overview's numbers and lists, except live runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Overview {
    pub(crate) schedules: i64,
    pub(crate) active_schedules: i64,
    pub(crate) paused_schedules: i64,
    pub(crate) live_runs: i64,
    pub(crate) executions: Executions,
    pub(crate) nodes: Vec<Node>,
}

/// The runs that ended in the last day, and the fires that led to no run.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Executions {
    pub(crate) succeeded: i64,
    pub(crate) failed: i64,
    pub(crate) timed_out: i64,
    pub(crate) skipped: i64,
    pub(crate) missed: i64,
    pub(crate) abandoned: i64,
}

/// A live run, with the usual duration of its schedule's runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LiveRun {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) state: RunState,
    pub(crate) created_at: Moment,
    pub(crate) started_at: Option<Moment>,
    pub(crate) workflow: Named,
    pub(crate) schedule: Option<Named>,
    /// The forecast; null before the run has started, and while there are too few earlier runs for
    /// an estimate.
    pub(crate) forecast: Option<RunForecast>,
}

/// How many runs start in each upcoming minute.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Minutes {
    pub(crate) from: Moment,
    pub(crate) starts: Vec<i64>,
    pub(crate) is_complete: bool,
}

/// A schedule with its next fires.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NextSchedule {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) timing: DescribedTiming,
    pub(crate) next_fires: Vec<NextFire>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct DescribedTiming {
    pub(crate) zone: String,
    pub(crate) description: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NextFire {
    pub(crate) at: Moment,
    pub(crate) suppressed_by: Option<String>,
}

/// The instant up to which a user has seen the events.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Seen {
    pub(crate) settings: Option<SeenUntil>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SeenUntil {
    pub(crate) seen_until: Option<Moment>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) state: NodeState,
    pub(crate) started_at: Moment,
    pub(crate) heartbeat_at: Moment,
    pub(crate) runs: i64,
    pub(crate) capacity: i64,
    pub(crate) version: String,
}

/// The health of the server itself.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Health {
    pub(crate) healthy: bool,
    pub(crate) issues: Vec<String>,
    pub(crate) checks: Vec<Check>,
    pub(crate) version: String,
    pub(crate) database: String,
    pub(crate) zone_data: ZoneData,
}

/// The time zone data that the server uses.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ZoneData {
    pub(crate) version: String,
    pub(crate) source: String,
}

/// One health check.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) healthy: bool,
    pub(crate) value: String,
    pub(crate) limit: Option<String>,
}
