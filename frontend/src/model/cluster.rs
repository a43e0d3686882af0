use serde::Deserialize;

use super::{Health, NodeState};
use crate::time::Moment;

/// The server processes and the verdict on them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Fleet {
    pub(crate) nodes: Vec<Member>,
    pub(crate) health: Health,
}

/// One life of a server process, with what it has to do.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) incarnation: i64,
    pub(crate) state: NodeState,
    pub(crate) roles: Vec<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) started_at: Moment,
    pub(crate) heartbeat_at: Moment,
    /// Since its last sign of life, on the database's clock; none once it is gone.
    pub(crate) silent_ms: Option<i64>,
    pub(crate) clock_offset_ms: i64,
    pub(crate) runs: i64,
    pub(crate) capacity: i64,
    pub(crate) version: String,
    pub(crate) zone_data: String,
    /// The last migration that its program knows.
    pub(crate) schema: String,
    /// Why it does not reach Redis, if it is to and does not.
    pub(crate) redis_problem: Option<String>,
    pub(crate) first_shards: i64,
    pub(crate) second_shards: i64,
    pub(crate) leases: Vec<Lease>,
}

/// That something about a node has changed. What each of them has to do depends on all of them, so whoever hears it asks
/// for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ClusterEvent {}

/// A service that one node does for all.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Lease {
    pub(crate) name: String,
    pub(crate) epoch: i64,
}

impl Member {
    /// Whether it takes part: it beats, or brings to an end what it holds.
    pub(crate) fn is_here(&self) -> bool {
        match self.state {
            NodeState::Alive | NodeState::Draining | NodeState::Drained => true,
            NodeState::Left | NodeState::Dead => false,
        }
    }
}
