//! Reports problems to people and successes to watchdogs.
//!
//! - `alerts`: notify people of failures
//! - `pings`: tell an external watchdog that runs succeed

pub mod alerts;
pub mod pings;
