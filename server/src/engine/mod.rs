//! The engine: services that make what the tables say come true.
//!
//! Promises: every instant at which an enabled schedule is due gets one row in the ledger, written
//! before anything happens, with a verdict and a reason in the end; nothing runs without one. Each
//! service is `run_once(now) -> Report` inside one shared loop, woken by signal or by timer. A
//! wake-up carries no data: what to do is always read afresh from the tables, so a lost wake-up
//! costs time and a doubled one nothing. What is decided is decided by pure functions (in the
//! `timetable` crate and in `settle`, `handoff`, `planner`); what is written is written by
//! the store. The engine knows nothing of GraphQL, HTTP or sessions.
//!
//! The services, by what they are for:
//!
//! - `planning`: what becomes of instants
//! - `execution`: what becomes of runs
//! - `cluster`: how nodes share the work, and how one is kept from it that must not schedule
//! - `alerting`: who is told of what goes wrong, and that all goes well
//! - `maintenance`: history removed, counted and looked at
//!
//! `jobs` hands attempts to workers.
//!
//! What they share: `core`, `service`, `signals` and `settings`; `places` shares a node's capacity
//! among those that want some, `quotas` say how much of the server a namespace may use. `running`
//! starts and stops all of them, `stepwise` lets a simulation choose which goes next.
//!
//! A fire's life: `planner` claims it (phase 1), `handoff` makes it a run (phase 2),
//! `attempt` carries it out, `settler` writes how it ended; `dispatcher` takes runs that
//! wait for room or for their next attempt; `flow` conducts runs of several tasks; `buffer` keeps
//! the fires that wait for runs in their way and hands on the next when these have settled;
//! `recovery` finds what a dead process left.

pub mod alerting;
pub mod cluster;
mod core;
mod error;
pub mod execution;
pub(crate) mod jobs;
pub mod maintenance;
pub mod places;
pub mod planning;
pub mod quotas;
mod running;
mod service;
mod settings;
mod signals;
mod stepwise;

pub use alerting::{
    alerts::{AlertsReport, NotificationSenderReport},
    pings::PingsReport,
};
pub use cluster::membership::{CancellerReport, PulseReport};
pub use error::EngineError;
pub(crate) use execution::flow::{Shown, kept_tasks, merged_results, shown};
pub use execution::{dispatcher::DispatcherReport, recovery::RecoveryReport};
pub use maintenance::{retention::RetentionReport, stats::StatsReport};
pub use planning::{backfill::BackfillReport, planner::PlannerReport};
pub use running::{Engine, Status};
pub use settings::Settings;
pub use signals::Signals;
#[doc(hidden)]
pub use stepwise::{Step, Stepwise};
