//! The cluster: which nodes are alive, which node does what, and when a node must not act.
//!
//! Promises: a due fire is claimed by the node that owns its shard, or by others soon after if that
//! node does not. Services that one node runs for all name their lease in each write. A node does
//! not schedule while its clock is wrong, while another process uses its name, or during its
//! shutdown; it reports this, and resumes on its own when the reason is gone. Correctness does not
//! depend on any of this: unique keys and row locks guarantee it. A view that is stale, or that two
//! nodes do not share, only costs a lost race.
//!
//! Each node reads at each heartbeat which nodes are alive, and keeps the result in memory; between
//! two heartbeats it queries nothing. A node that is alone ignores shards, and pays nothing for
//! nodes that do not exist.
//!
//! - `lead`: lease terms of services that one node runs for all
//! - `membership`: how a node joins, sends heartbeats, and stops attempts that it has lost
//! - `relay`: wakes the other nodes and receives their wake-ups
//! - `namesake`: whether the previous process of the same name is still alive
//! - `live_range`: which part of the ledger contains live rows
//! - `clock_watch`: notices when the wall clock is set

pub(crate) mod clock_watch;
mod lead;
pub(crate) mod live_range;
pub(crate) mod membership;
mod namesake;
pub(crate) mod relay;

pub use super::core::nodes::{
    Cluster, Fleet, Issue, NodeReadiness, SHARDS, issues, owners, places, redis,
};
pub(crate) use super::core::nodes::{Comparison, describe};
pub(super) use super::core::nodes::{Reading, Share, own_process};
pub(super) use lead::{LeaseTerm, lead};
pub(super) use namesake::{has_namesake, make_way};
