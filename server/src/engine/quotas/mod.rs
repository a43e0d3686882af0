//! Quotas limit how much of the server one namespace may use.
//!
//! A namespace has the configured default quotas, except for those that an administrator has set
//! for it. A save that exceeds a quota is refused in the transaction that would write it.
//! Excess fires are skipped when they are claimed, and get their row. Excess runs wait.
//! Excess log lines are dropped. History over the quota of rows is removed before its retention.
//! A node keeps its own counts in memory: no claim queries the database for them.
//!
//! - `meter`: this node's usage per namespace

mod meter;

pub use self::meter::Meter;
pub(in crate::engine) use self::meter::{LogQuota, Printer};
