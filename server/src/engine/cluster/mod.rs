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
//! - `ring`: which nodes own which shards, and when a node may claim what; pure
//! - `fleet`: the nodes as they were at the last heartbeat; pure
//! - `offset`: how far a clock is from the database's; pure
//! - `steps`: steps of the wall clock; pure
//! - `compare`: the clock here beside the database's
//! - `handle`: what a node knows of the others and of itself
//! - `beating`: how a node says that it lives, and hears who else does
//! - `witness`: for how long the others are silent, by the clock that nobody steps; pure
//! - `lead`: terms of services that one node does for all
//! - `terms`: for how long those of others last, by the clock that nobody steps; pure
//! - `namesake`: whether the process that bears a name already is still there
//! - `process`: how a machine tells its processes apart
//! - `issues`: what is wrong with the cluster, for people

mod beating;
pub(crate) mod clock_watch;
mod compare;
mod fleet;
mod handle;
mod issues;
mod lead;
pub(crate) mod lookout;
pub(crate) mod membership;
mod namesake;
mod offset;
mod process;
pub(crate) mod relay;
mod ring;
mod steps;
mod terms;
mod witness;

pub(crate) use compare::Comparison;
pub use fleet::{Fleet, places};
pub use handle::{Cluster, Standing};
pub(crate) use issues::describe;
pub use issues::{Issue, issues, redis};
pub(super) use lead::{Tenure, lead};
pub(super) use namesake::{has_namesake, make_way};
pub(super) use offset::Reading;
pub(super) use process::own_process;
pub(super) use ring::Share;
pub use ring::{SHARDS, owners};
