//! The nodes: their heartbeats, the terms of the services that one does for all, and their calls to
//! each other.

pub mod calls;
pub mod leases;
pub mod nodes;
