//! What the control plane reads: pages, batches for the loaders, figures, the change feed.
//!
//! Every list has a limit and an order with a key; every batch answers for many keys with one
//! statement, so a page costs the same number of statements however long it is.
//!
//! - `schedules`: the list with its filters
//! - `runs`, `fires`, `logs`: history
//! - `backfills`: orders for the past, how far they are
//! - `batches`: the rows of many keys at once
//! - `tally`: fires by what became of them
//! - `overview`: counts and what comes next
//! - `health`: the figures that say whether all is well
//! - `placement`: runs that wait for nodes with certain tags
//! - `feed`: what changed since a cursor

pub mod backfills;
pub mod batches;
pub mod feed;
pub mod fires;
pub mod health;
pub mod logs;
pub mod overview;
pub mod placement;
pub mod runs;
pub mod schedules;
pub mod tally;
