//! Removes history that is old enough, and rows that are no longer needed.
//!
//! The condition for what is old enough exists once ([`RetentionRule`]) and is used everywhere: by the
//! chunks that delete, by the days that PostgreSQL drops, and by the preview. So a preview never
//! shows other rows than a round then removes.
//!
//! - `rule`: which rows are old enough
//! - `sweep`: deletes them, one chunk per transaction
//! - `purge`: rows outside the ledger that are no longer needed
//! - `layout`: the existing partitions of the ledger on PostgreSQL
//! - `partitions`: creates and drops them
//! - `figures`: what a round would remove

mod figures;
mod layout;
mod partitions;
mod purge;
mod rule;
mod sweep;

pub use figures::{Figure, Oldest};
pub use layout::{Family, Layout, PartitionRange};
pub use partitions::Dropped;
pub use purge::{DELETED_DAYS, Leftover};
pub use rule::{Instead, Policies, RetentionRule, RetentionScope};
pub use sweep::{FireKey, OldRun, PartKey, RunPart};
