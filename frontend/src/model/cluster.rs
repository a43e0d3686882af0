use serde::Deserialize;

use super::{BrokerState, Health, NodeState};
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
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) incarnation: i64,
    pub(crate) state: NodeState,
    pub(crate) roles: Vec<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) started_at: Moment,
    pub(crate) heartbeat_at: Moment,
    /// Time since the node's last heartbeat, by the database's clock; null once the node is gone.
    pub(crate) silent_ms: Option<i64>,
    pub(crate) clock_offset_ms: i64,
    pub(crate) runs: i64,
    pub(crate) capacity: i64,
    pub(crate) version: String,
    pub(crate) zone_data: String,
    /// The last migration that the node's version knows.
    pub(crate) schema: String,
    /// Why the node cannot reach Redis, if it is configured to use it and cannot.
    pub(crate) redis_problem: Option<String>,
    pub(crate) first_shards: i64,
    pub(crate) second_shards: i64,
    /// Who drained the node, and why; absent for a node in service.
    pub(crate) drain: Option<Drain>,
    pub(crate) leases: Vec<Lease>,
}

/// Who took a node out of service, and why.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Drain {
    pub(crate) by: String,
    pub(crate) at: Moment,
    pub(crate) reason: String,
}

/// A share of the schedules, and the two nodes that claim its due fires: the second one does it only if the first
/// does not.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Shard {
    pub(crate) number: i64,
    pub(crate) first: Option<String>,
    pub(crate) second: Option<String>,
}

/// Some change of a node. Each node's share of the work depends on all nodes, so a subscriber reloads all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ClusterEvent {}

/// A broker to which the answering node publishes events.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BrokerStatus {
    pub(crate) kind: String,
    pub(crate) address: String,
    pub(crate) state: BrokerState,
    pub(crate) since: Option<Moment>,
    pub(crate) acknowledged: i64,
    pub(crate) failed: i64,
    pub(crate) waiting: i64,
    pub(crate) last_error: Option<String>,
    pub(crate) last_error_at: Option<Moment>,
}

/// A service that one node runs for the whole cluster.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Lease {
    pub(crate) name: String,
    pub(crate) epoch: i64,
}

impl Member {
    /// Whether the node is active: it sends heartbeats, or finishes the work that it holds.
    pub(crate) fn is_here(&self) -> bool {
        match self.state {
            NodeState::Alive | NodeState::Draining | NodeState::Drained => true,
            NodeState::Left | NodeState::Dead => false,
        }
    }
}
