//! The reads of the control plane: pages, batches for the data loaders, figures, the change feed.
//!
//! Every list has a limit and a key order. Every batch looks up many keys in one statement, so a
//! page needs the same number of statements however long it is.
//!
//! - `schedules`: the list with its filters; `schedule_groups`: its schedules counted by tag or
//!   module
//! - `runs`, `fires`, `logs`: history; `ledger`: the fires of all schedules
//! - `sorted`: pages in the order of a number
//! - `search`: what the terms of a search mean in SQL; `matching`: conditions on columns
//! - `backfills`: backfills and their progress
//! - `batches`: the rows of many keys at once
//! - `schedule_stats`: outcomes of schedules' runs
//! - `tally`: fires by outcome
//! - `overview`: counts and what comes next
//! - `stats`: roll-ups, added up for charts; `run_series`: the same for a tag or a schedule
//! - `canary`: the server's own schedule
//! - `health`: the figures of the health checks
//! - `health_causes`: the schedules behind these figures; `problems`: schedules that fail or lose
//!   fires
//! - `modules`: the deployed modules
//! - `placement`: runs that wait for nodes with certain tags
//! - `feed`: changes since a cursor

pub mod backfills;
pub mod batches;
pub mod canary;
pub mod feed;
pub mod fires;
pub mod health;
pub mod health_causes;
pub mod ledger;
pub mod logs;
mod matching;
pub mod modules;
pub mod overview;
pub mod placement;
pub mod problems;
pub mod run_series;
pub mod runs;
pub mod schedule_groups;
pub mod schedule_stats;
pub mod schedules;
pub mod search;
pub mod sorted;
pub mod stats;
pub mod tally;

pub use super::db::within;
