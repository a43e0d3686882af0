//! The nodes: their heartbeats, the leases of services that one node runs for the
//! whole cluster, and the calls between nodes.

pub mod calls;
pub mod leases;
pub mod nodes;
