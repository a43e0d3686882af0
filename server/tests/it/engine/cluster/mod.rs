//! Several nodes on one database.
//!
//! - `sharing`: who claims what, and who comes in for whom
//! - `leases`: services that one node does for all
//! - `clocks`: nodes whose clocks are wrong
//! - `zones`: nodes whose zone data differs
//! - `placing`: which node takes a run
//! - `leaving`: nodes that shut down
//! - `redis`: nodes that hear each other by Redis
//! - `locks`: who goes first for a fire, by locks there

mod clocks;
mod leases;
mod leaving;
mod locks;
mod placing;
mod redis;
mod sharing;
mod zones;
