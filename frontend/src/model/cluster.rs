use serde::Deserialize;

use super::{Health, NodeState};
use crate::time::Moment;

/// The nodes, and the state of the cluster.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Fleet {
    pub(crate) nodes: Vec<Member>,
    pub(crate) health: Health,
}

/// One process of a node, with its share of the work.
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
    /// Time since its last heartbeat, by the database's clock; null once it is gone.
    pub(crate) silent_ms: Option<i64>,
    pub(crate) clock_offset_ms: i64,
    pub(crate) runs: i64,
    pub(crate) capacity: i64,
    pub(crate) version: String,
    pub(crate) zone_data: String,
    /// The last migration that its version knows.
    pub(crate) schema: String,
    /// Why it cannot reach Redis, if it is configured to use it and cannot.
    pub(crate) redis_problem: Option<String>,
    pub(crate) first_shards: i64,
    pub(crate) second_shards: i64,
    pub(crate) leases: Vec<Lease>,
}

/// Something about a node has changed. Each node's share of the work depends on all nodes, so a subscriber reloads
/// all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ClusterEvent {}

/// A service that one node runs for all.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Lease {
    pub(crate) name: String,
    pub(crate) epoch: i64,
}

impl Member {
    /// Whether it takes part: it sends heartbeats, or finishes the work that it holds.
    pub(crate) fn is_here(&self) -> bool {
        match self.state {
            NodeState::Alive | NodeState::Draining | NodeState::Drained => true,
            NodeState::Left | NodeState::Dead => false,
        }
    }
}
