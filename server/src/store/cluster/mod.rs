//! The nodes: their heartbeats, the leases of services that one node runs for all, and their calls
//! to each other.

pub mod calls;
pub mod leases;
pub mod nodes;
