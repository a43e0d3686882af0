//! History that is old enough to go, and the rows that nothing needs any more.
//!
//! What is old enough is said once, as a condition ([`Rule`]), and asked everywhere: by the chunks
//! that delete, by the days that PostgreSQL drops, by the preview. So a preview never names other
//! rows than a round then removes.
//!
//! - `rule`: which rows are old enough
//! - `sweep`: deleting them, a chunk a transaction
//! - `purge`: the rows beside the ledger that nothing needs any more
//! - `layout`: the days that PostgreSQL keeps the ledger in, as they are
//! - `partitions`: making and dropping them
//! - `figures`: what a round would remove

mod figures;
mod layout;
mod partitions;
mod purge;
mod rule;
mod sweep;

pub use figures::{Figure, Oldest};
pub use layout::{Family, Layout, Stretch};
pub use partitions::Dropped;
pub use purge::{DELETED_DAYS, Leftover};
pub use rule::{Instead, Policies, Rule, Whose};
pub use sweep::{FireKey, OldRun, Part, PartKey};
