//! Who is told of what.
//!
//! - `alerts`: tell people of what goes wrong
//! - `pings`: tell a watchdog outside that all goes well

pub mod alerts;
pub mod pings;
