//! Reports problems to people, and successes to external watchdogs.
//!
//! - `alerts`: notifies people of failures
//! - `pings`: tells an external watchdog that runs succeed

pub mod alerts;
pub mod pings;
