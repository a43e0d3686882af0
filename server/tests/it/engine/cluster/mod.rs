//! Several nodes on one database.
//!
//! - `sharing`: which node claims which fires, and which node takes over from which
//! - `leases`: services that one node runs for all
//! - `clocks`: nodes whose clocks are wrong
//! - `zones`: nodes whose zone data differs
//! - `placing`: which node takes a run
//! - `leaving`: nodes that shut down
//! - `redis`: nodes that exchange heartbeats through Redis
//! - `locks`: which node claims a fire first, by locks in Redis

mod clocks;
mod leases;
mod leaving;
mod locks;
mod placing;
mod redis;
mod sharing;
mod zones;
