//! Fires, runs and attempts: what was due and what became of it.
//!
//! - `ahead`, `candidates`, `claims`: what is due, and claiming it
//! - `handoffs`, `handoff_lock`: from an intent to a run
//! - `runs`, `queue`, `groups`, `untaken`: runs on their way and those that wait
//! - `holds`, `flows`, `definitions`: attempts at work, and runs of several tasks
//! - `buffers`, `clearing`, `pauses`, `instants`: fires that wait, runs that give way, pauses
//! - `backfills`, `backfill_runs`: instants of the past
//! - `recoveries`: what went wrong and can be found in the tables
//! - `logs`: what attempts print
//! - `stats`, `hours`, `counts`, `spread`: roll-ups for charts
//! - `retention`: what is old enough to go
//! - `zone_rules`: by which rules of zones cursors are computed

pub mod ahead;
pub mod backfill_runs;
pub mod backfills;
pub mod buffers;
pub mod candidates;
pub mod claims;
pub mod clearing;
pub mod counts;
pub(super) mod definitions;
pub mod flows;
pub mod groups;
pub(super) mod handoff_lock;
pub mod handoffs;
pub mod holds;
pub mod hours;
pub mod instants;
pub mod logs;
pub(super) mod pauses;
pub mod queue;
pub mod recoveries;
pub mod retention;
pub mod runs;
pub mod spread;
pub mod stats;
pub mod untaken;
pub mod zone_rules;
