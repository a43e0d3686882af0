//! The queries of the control plane: pages, batches for data loaders, figures, and the change feed.
//!
//! Every list has a limit and is ordered by a key. A batch looks up many keys in one statement.
//! So a page needs the same number of statements however long it is.
//!
//! - `schedules`: the list of schedules with its filters;
//!   `schedule_groups`: schedules counted by tag or module
//! - `runs`, `fires`, `logs`: the history of a schedule; `ledger`: the fires of all schedules;
//!   `ledger_check`: what a check of the ledger compares
//! - `sorted`: pages that are sorted by a number
//! - `search`: translates a search to SQL; `matching`: conditions on columns
//! - `backfills`: backfills and their progress
//! - `batches`: rows by many keys at once
//! - `schedule_stats`: figures about the runs of schedules
//! - `outcomes`: the fires of schedules in a period, by verdict
//! - `tally`: fires counted by outcome; `skipped`: fires that were skipped for load
//! - `timeline`: the schedules that have something in a range of time; `lane_history`: what each of
//!   them did
//! - `overview`: counts of schedules and runs, and the next fires
//! - `stats`: roll-ups, added up for charts; `run_series`: the same figures for a tag or a schedule
//! - `canary`: the server's own schedule
//! - `health`: the figures that the health checks judge
//! - `health_budgets`: the figures that the budgets of tags limit
//! - `health_causes`: the schedules that cause a bad figure;
//!   `problems`: schedules that fail, lose fires or skip them; `recovered`: which of them are over
//! - `modules`: the deployed modules
//! - `placement`: runs that wait for nodes with certain tags
//! - `feed`: the rows that have changed since a cursor; `fire_feed`: the same for fires

pub mod backfills;
pub mod batches;
pub mod canary;
pub mod feed;
pub mod fire_feed;
pub mod fires;
pub mod health;
pub mod health_budgets;
pub mod health_causes;
pub mod lane_history;
pub mod ledger;
pub mod ledger_check;
pub mod logs;
mod matching;
pub mod modules;
pub mod outcomes;
pub mod overview;
pub mod placement;
pub mod problems;
mod recovered;
pub mod run_series;
pub mod runs;
pub mod schedule_groups;
pub mod schedule_stats;
pub mod schedules;
pub mod search;
pub mod skipped;
pub mod sorted;
pub mod stats;
pub mod tally;
pub mod timeline;

pub use super::db::within;
