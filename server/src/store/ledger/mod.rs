//! The ledger: fires, runs and attempts.
//!
//! - `ahead`, `candidates`, `claims`: finds due schedules, and claims them
//! - `handoffs`, `handoff_lock`: turns intents into runs
//! - `runs`, `queue`, `groups`, `untaken`: live runs and waiting runs
//! - `holds`, `flows`, `definitions`: attempts in progress, and runs of several tasks
//! - `buffers`, `clearing`, `pauses`, `instants`: waiting fires,
//!   runs that must make way, pauses, past instants
//! - `backfills`, `backfill_runs`: runs for past instants on request
//! - `recoveries`: finds failures that the tables show
//! - `logs`: the output of attempts
//! - `stats`, `depths`, `hours`, `counts`, `spread`: statistics for charts
//! - `history`, `history_cuts`, `recount`: the amount of history in a namespace, for its quotas
//! - `retention`: removes old history
//! - `zone_rules`: the zone data by which cursors are computed

pub mod ahead;
pub mod backfill_runs;
pub mod backfills;
pub mod buffers;
pub mod candidates;
pub mod claims;
pub mod clearing;
pub mod counts;
pub(super) mod definitions;
pub mod depths;
pub mod flows;
pub mod groups;
pub(super) mod handoff_lock;
pub mod handoffs;
pub mod history;
pub mod history_cuts;
pub mod holds;
pub mod hours;
pub mod instants;
pub mod logs;
pub mod pauses;
pub mod queue;
pub mod recount;
pub mod recoveries;
pub mod retention;
pub mod runs;
pub mod spread;
pub mod stats;
pub mod untaken;
pub mod zone_rules;
