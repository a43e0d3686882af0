//! The engine: services that make what the tables say come true.
//!
//! Promises: every instant at which an enabled schedule is due gets one row in the ledger, written
//! before anything happens, with a verdict and a reason in the end; nothing runs without one. Each
//! service is `run_once(now) -> Report` inside one shared loop, woken by signal or by timer. A
//! wake-up carries no data: what to do is always read afresh from the tables, so a lost wake-up
//! costs time and a doubled one nothing. What is decided is decided by pure functions (in the
//! `timetable` crate and in `settle`, `handoff`, `planner`); what is written is written by
//! the store. The room knows nothing of GraphQL, HTTP or sessions.
//!
//! A fire's life: `planner` claims it (phase 1), `handoff` makes it a run (phase 2),
//! `attempt` carries it out, `settler` writes how it ended; `dispatcher` takes runs that
//! wait for room or for their next attempt; `flow` conducts runs of several tasks; `buffer` keeps
//! the fires that wait for runs in their way and hands on the next when these have settled;
//! `recovery` finds what a dead process left;
//! `retention` removes history that is old enough; `stats` counts what has settled, for charts;
//! `beginnings` are attempts between their commit and their start; `membership` says who is alive;
//! `relay` wakes the other nodes and is woken by them; `cluster` shares the work among nodes and
//! keeps a node from it that must not schedule; `clock_watch` sees when the wall clock is set;
//! `advice` says what to do about a check of the `health` that fails;
//! `places` shares a node's capacity among those that want some, `saturation` says whether it is
//! used up; `quotas` say how much of the server a namespace may use; `lookout` says where in the ledger something is alive;
//! `accounting` closes the ledger's gap after a pause, `closing` at an edit, both `gap` by part;
//! `allowance` counts the fires of schedules that may have only so many; `calendars` keeps what
//! suppresses fires compiled, and knows what it was; `backfill` runs instants of the past that somebody
//! ordered. `feeds` are calendars of what is to come; `zones` computes it anew when the rules of zones
//! change.
//! `commands` is the write side for people and tools; `people` says who they are; `vault` keeps
//! secrets sealed and opens them for an attempt; `alerts` tells people of what goes wrong,
//! and `pings` tell a watchdog outside that all goes well.

pub mod accounting;
pub mod advice;
pub mod alerts;
mod allowance;
mod attempt;
pub mod backfill;
mod beginnings;
mod buffer;
pub mod calendars;
mod clock_watch;
mod closing;
pub mod cluster;
pub mod commands;
mod core;
mod definition;
mod dispatcher;
mod error;
pub mod feeds;
mod flow;
mod gap;
mod handoff;
pub mod health;
mod lateness;
mod logs;
mod lookout;
mod membership;
pub mod people;
pub mod pings;
pub mod places;
mod planner;
pub mod quotas;
mod recovery;
mod relay;
pub mod retention;
mod running;
mod saturation;
mod service;
mod settings;
mod settle;
mod settler;
mod signals;
mod stats;
mod stepwise;
pub mod vault;
mod zones;

pub use alerts::{AlertsReport, CourierReport};
pub use backfill::BackfillReport;
pub use definition::{Condition, Definition, Problem, Task, When};
pub use dispatcher::DispatcherReport;
pub use error::EngineError;
use flow::kept_tasks;
pub(crate) use flow::{Shown, merged_results, shown};
pub use membership::{CancellerReport, PulseReport};
pub use pings::PingsReport;
pub use planner::PlannerReport;
pub use recovery::RecoveryReport;
pub use retention::{Retention, RetentionReport};
pub use running::{Engine, Status};
pub use settings::Settings;
pub use signals::Signals;
pub use stats::StatsReport;
#[doc(hidden)]
pub use stepwise::{Step, Stepwise};
