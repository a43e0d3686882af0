//! The state of the whole house.

use super::{NodeState, RunRow, ScheduleRef, Tally};
use crate::time::Moment;

/// The overview's numbers and lists, live runs apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Overview {
    pub(crate) schedules: i64,
    pub(crate) active: i64,
    pub(crate) paused: i64,
    pub(crate) live_runs: i64,
    pub(crate) tally: Tally,
    pub(crate) upcoming: Vec<Upcoming>,
    pub(crate) failures: Vec<RunRow>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) health: Health,
}

/// A fire that is to come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Upcoming {
    pub(crate) at: Moment,
    pub(crate) schedule: ScheduleRef,
}

/// One server process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) state: NodeState,
    pub(crate) started_at: Moment,
    pub(crate) heartbeat_at: Moment,
    pub(crate) runs: i64,
    pub(crate) capacity: i64,
    pub(crate) version: String,
}

/// The verdict on the server itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Health {
    pub(crate) healthy: bool,
    pub(crate) issues: Vec<String>,
    pub(crate) checks: Vec<Check>,
    pub(crate) version: String,
    pub(crate) database: String,
    pub(crate) zone_version: String,
    pub(crate) zone_source: String,
}

/// One thing that health looks at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) healthy: bool,
    pub(crate) value: String,
    pub(crate) limit: Option<String>,
}
