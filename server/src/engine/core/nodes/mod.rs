//! What a node knows of the other nodes and of its own clock.
//!
//! Each node reads at each heartbeat which nodes are alive, and keeps the result in memory; between
//! two heartbeats it queries nothing. A node that is alone ignores shards, and pays nothing for
//! nodes that do not exist.
//!
//! - `ring`: which nodes own which shards, and when a node may claim a fire; pure
//! - `fleet`: the live nodes at the last heartbeat; pure
//! - `offset`: how far a clock is from the database's; pure
//! - `steps`: steps of the wall clock; pure
//! - `compare`: compares this node's clock with the database's
//! - `handle`: the shared knowledge about the other nodes and this one
//! - `beating`: how a node sends its heartbeat, and reads those of others
//! - `witness`: how long other nodes have been silent, by the local monotonic clock; pure
//! - `terms`: how long the lease terms of others last, by the local monotonic clock; pure
//! - `process`: how a machine tells its processes apart
//! - `issues`: problems of the cluster, for operators

mod beating;
mod compare;
mod fleet;
mod handle;
mod issues;
mod offset;
mod process;
mod ring;
mod steps;
mod terms;
mod witness;

pub(crate) use compare::Comparison;
#[cfg(test)]
pub(in crate::engine) use fleet::tests::member;
pub use fleet::{Fleet, places};
pub use handle::{Cluster, NodeReadiness};
pub(crate) use issues::describe;
pub use issues::{Issue, issues, redis};
pub(in crate::engine) use offset::Reading;
pub(in crate::engine) use process::{goes_on, own_process};
pub(in crate::engine) use ring::Share;
pub use ring::{SHARDS, owners};
