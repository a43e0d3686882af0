//! Quotas: how much of the server one namespace may use.
//!
//! Each namespace has the quotas of the configuration, but for those that an administrator has set
//! for it. What is saved is refused over the quota, in the transaction that would write it; fires
//! over it are skipped when they are claimed, and accounted for; runs over it wait; lines of the log
//! over it are left out. What a node counts itself lies in memory: no claim asks the database.
//!
//! - `meter`: what this node has counted of each namespace

mod meter;

pub use self::meter::Meter;
