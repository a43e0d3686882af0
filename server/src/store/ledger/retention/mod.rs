//! Removes old history, and rows that are no longer needed.
//!
//! The condition for old rows is defined once ([`RetentionRule`]) and used everywhere:
//! for the chunks that are deleted, for the days that PostgreSQL drops, and for the preview.
//! So a round removes exactly the rows that a preview has shown.
//!
//! - `rule`: decides which rows are old enough
//! - `sweep`: deletes old rows, one chunk per transaction
//! - `purge`: deletes rows outside the ledger that are no longer needed
//! - `namespaces`: removes what is in deleted namespaces
//! - `layout`: the existing partitions of the ledger on PostgreSQL
//! - `partitions`: creates and drops partitions
//! - `figures`: counts the rows that a round would remove

mod figures;
mod layout;
mod namespaces;
mod partitions;
mod purge;
mod rule;
mod sweep;

pub use figures::{Figure, Oldest};
pub use layout::{Layout, PartitionRange, TableFamily};
pub use partitions::PartitionDrop;
pub use purge::{DELETED_DAYS, Leftover, MAX_CLOCK_CHANGE_DAYS};
pub use rule::{Policies, ProposedRetention, RetentionRule, RetentionScope};
pub use sweep::{FireKey, OldRun, PartKey, RunPart};
