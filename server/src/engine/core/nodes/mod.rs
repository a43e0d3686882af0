//! What a node knows of the others and of its own clock.
//!
//! Each node reads at each heartbeat who is alive, and keeps that in memory; between two beats it
//! asks nobody. A node that is alone asks for no shard, and pays nothing for the others that are
//! not there.
//!
//! - `ring`: which nodes own which shards, and when a node may claim what; pure
//! - `fleet`: the nodes as they were at the last heartbeat; pure
//! - `offset`: how far a clock is from the database's; pure
//! - `steps`: steps of the wall clock; pure
//! - `compare`: the clock here beside the database's
//! - `handle`: what a node knows of the others and of itself
//! - `beating`: how a node says that it lives, and hears who else does
//! - `witness`: for how long the others are silent, by the clock that nobody steps; pure
//! - `terms`: for how long terms of others last, by the clock that nobody steps; pure
//! - `process`: how a machine tells its processes apart
//! - `issues`: what is wrong with the cluster, for people

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
