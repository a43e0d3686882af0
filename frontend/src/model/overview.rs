//! The state of everything.

use serde::Deserialize;

use super::{NodeState, RunRow, run::ScheduleRef};
use crate::time::Moment;

/// What the overview asks for at once.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct OverviewAnswer {
    pub(crate) overview: Overview,
    pub(crate) health: Health,
}

/// The overview's numbers and lists, live runs apart.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Overview {
    pub(crate) schedules: i64,
    pub(crate) active_schedules: i64,
    pub(crate) paused_schedules: i64,
    pub(crate) live_runs: i64,
    pub(crate) executions: Executions,
    pub(crate) upcoming: Vec<Upcoming>,
    pub(crate) failures: Vec<RunRow>,
    pub(crate) nodes: Vec<Node>,
}

/// What ended in the last day, and what came to no run.
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

/// A fire that is to come.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Upcoming {
    pub(crate) at: Moment,
    pub(crate) schedule: ScheduleRef,
}

/// One server process.
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

/// The verdict on the server itself.
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

/// Which rules of the world's clocks the server goes by.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ZoneData {
    pub(crate) version: String,
    pub(crate) source: String,
}

/// One thing that health looks at.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) healthy: bool,
    pub(crate) value: String,
    pub(crate) limit: Option<String>,
}
