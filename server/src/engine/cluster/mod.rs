//! The cluster: who is there, who does what, and when a node must not.
//!
//! Promises: whatever is due is claimed by the node that owns its shard, and by others soon after
//! if that does not; services that one node does for all name their lease in each write; a node
//! whose clock is wrong, whose name another process bears or that shuts down schedules nothing,
//! says so, and goes on by itself when that is over. None of this is the guarantee, which the
//! unique keys and the rows' locks keep: a view that is stale, or that two nodes do not share,
//! costs a lost race.
//!
//! Each node reads at each heartbeat who is alive, and keeps that in memory; between two beats it
//! asks nobody. A node that is alone asks for no shard, and pays nothing for the others that are
//! not there.
//!
//! - `lead`: terms of services that one node does for all
//! - `membership`: how a node joins, beats and stops what was taken from it
//! - `relay`: wakes the other nodes and is woken by them
//! - `namesake`: whether the process that bears a name already is still there
//! - `live_range`: where in the ledger something is alive
//! - `clock_watch`: sees when the wall clock is set

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
