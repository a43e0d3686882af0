//! What the control plane reads: pages, batches for the loaders, figures, the change feed.
//!
//! Every list has a limit and an order with a key; every batch answers for many keys with one
//! statement, so a page costs the same number of statements however long it is.
//!
//! - `schedules`: the list with its filters
//! - `runs`, `fires`, `logs`: history
//! - `search`: what the terms of a search mean in SQL; `matching`: conditions on columns
//! - `backfills`: orders for the past, how far they are
//! - `batches`: the rows of many keys at once
//! - `tally`: fires by what became of them
//! - `overview`: counts and what comes next
//! - `stats`: roll-ups, added up for charts
//! - `canary`: the server's own schedule
//! - `health`: the figures that say whether all is well
//! - `modules`: what is deployed
//! - `placement`: runs that wait for nodes with certain tags
//! - `feed`: what changed since a cursor

pub mod backfills;
pub mod batches;
pub mod canary;
pub mod feed;
pub mod fires;
pub mod health;
pub mod logs;
mod matching;
pub mod modules;
pub mod overview;
pub mod placement;
pub mod runs;
pub mod schedules;
pub mod search;
pub mod stats;
pub mod tally;
