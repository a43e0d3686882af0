//! A node's knowledge of the other nodes and of its own clock.
//!
//! At each heartbeat, a node reads which nodes are alive and keeps the result in memory. Between
//! two heartbeats it queries nothing. A node that is alone ignores shards and has no extra cost.
//!
//! - `ring`: which nodes own which shards, and when a node may claim a fire; no IO
//! - `fleet`: the live nodes at the last heartbeat; no IO
//! - `offset`: how far a clock is from the database's; no IO
//! - `steps`: steps of the wall clock; no IO
//! - `compare`: compares this node's clock with the database's
//! - `handle`: the knowledge that all services share
//! - `beating`: sends this node's heartbeat, and reads those of others
//! - `witness`: how long other nodes have been silent, by the local monotonic clock; no IO
//! - `terms`: how long other nodes' lease terms last, by the local monotonic clock; no IO
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
pub(in crate::engine) use offset::ClockReading;
pub(in crate::engine) use process::{goes_on, own_process};
pub(in crate::engine) use ring::ClaimTurns;
pub use ring::{SHARDS, owners};
