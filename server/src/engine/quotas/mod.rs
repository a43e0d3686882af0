//! Quotas: how much of the server one namespace may use.
//!
//! Each namespace has the configured default quotas, except for those that an administrator has set
//! for it. A save that exceeds a quota is refused in the transaction that would write it; excess
//! fires are skipped when they are claimed, and accounted for; excess runs wait; excess log lines
//! are dropped; history over the quota of rows is removed before its retention. A node's own counts
//! are kept in memory: no claim queries the database for them.
//!
//! - `meter`: this node's counts per namespace

mod meter;

pub use self::meter::Meter;
pub(in crate::engine) use self::meter::{LogQuota, Printer};
