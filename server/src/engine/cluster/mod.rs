//! The cluster: which nodes are alive, which node does which work, and when a node must not act.
//!
//! The node that owns the shard of a due fire claims it; if that node does not,
//! others claim it soon after. A service that one node runs for the whole cluster names its lease
//! in each write. A node does not schedule while its clock is wrong, while another process uses its
//! name, or during its shutdown. It reports this state, and resumes on its own when the reason is
//! gone. Correctness does not depend on any of this: unique keys and row locks guarantee it. A node
//! whose view is stale, or differs from that of another node, only loses races for claims.
//!
//! At each heartbeat, a node reads which nodes are alive and keeps the result in memory. Between
//! two heartbeats it queries nothing. A node that is alone ignores shards and has no extra cost.
//!
//! - `lead`: lease terms for services that one node runs for all
//! - `membership`: joins, sends heartbeats, and stops attempts that the node has lost
//! - `relay`: wakes the other nodes and receives their wake-ups
//! - `namesake`: decides whether the previous process of the same name is still alive
//! - `live_range`: finds the part of the ledger that contains live rows
//! - `clock_watch`: notices when the wall clock is set

pub(crate) mod clock_watch;
mod lead;
pub(crate) mod live_range;
pub(crate) mod membership;
mod namesake;
pub(crate) mod relay;

pub(super) use super::core::nodes::{ClaimTurns, ClockReading, own_process};
pub use super::core::nodes::{
    Cluster, Fleet, Issue, NodeReadiness, SHARDS, issues, owners, places, redis,
};
pub(crate) use super::core::nodes::{Comparison, describe};
pub(super) use lead::{LeaseTerm, lead};
pub(super) use namesake::{has_namesake, make_way};
