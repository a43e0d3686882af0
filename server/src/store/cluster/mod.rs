//! The nodes: their heartbeats, the leases of services that one node runs for the
//! whole cluster, the calls between nodes, and what is done about nodes that have fallen silent.

pub mod calls;
pub mod leases;
pub mod nodes;
pub mod silence;
