//! Several nodes on one database.
//!
//! - `sharing`: who claims what, and who comes in for whom
//! - `leases`: services that one node does for all
//! - `clocks`: nodes whose clocks are wrong
//! - `placing`: which node takes a run
//! - `leaving`: nodes that shut down

mod clocks;
mod leases;
mod leaving;
mod placing;
mod sharing;
