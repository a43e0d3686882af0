//! The engine: services that carry out the work that the tables describe.
//!
//! Every instant at which an enabled schedule is due gets one row in the ledger. The row is written
//! before anything happens, and ends with a verdict and a reason; nothing runs without such a row.
//! Each service is `run_once(now) -> Report` inside one shared loop, woken by a signal or a timer.
//! A wake-up carries no data, because a service always reads its work from the tables.
//! So a lost wake-up costs time, and a duplicate one costs nothing.
//! Pure functions make the decisions (in the `timetable` crate and in `settle`, `handoff`
//! and `planner`); the store writes. The engine knows nothing of GraphQL, HTTP or sessions.
//!
//! The services are grouped by purpose:
//!
//! - `planning`: decides on instants that are due or were missed
//! - `execution`: executes runs
//! - `cluster`: divides the work among nodes, and keeps nodes that must not schedule from doing so
//! - `alerting`: reports failures to people, and successes to watchdogs
//! - `maintenance`: counts history, removes old history, and checks the cluster's health;
//!   maintenance windows are in `planning`
//!
//! `jobs` hands attempts to workers.
//!
//! The other modules are shared: `core`, `service`, `signals` and `settings`.
//! `places` divides a node's capacity among the namespaces and schedules that compete for it,
//! and `quotas` limits how much of the server a namespace may use. `services` starts and stops all
//! services; `stepwise` lets a simulation choose which service runs next.
//!
//! The life of a fire: `planner` claims it (phase 1), `handoff` turns it into a run (phase 2),
//! `attempt` executes the run, and `settler` writes its outcome. `dispatcher` takes runs that wait
//! for a place or for their next attempt. `flow` executes runs of several tasks. `buffer` keeps
//! fires that wait for a blocking run, and releases the next one when that run has settled.
//! `recovery` finds the work that a dead process left behind.

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
mod service;
mod services;
mod settings;
mod signals;
mod starter;
mod stepwise;

pub use alerting::{
    alerts::{AlertsReport, NotificationSenderReport},
    pings::PingsReport,
};
pub use cluster::membership::{CancellerReport, PulseReport};
pub use error::EngineError;
pub(crate) use execution::flow::{ShownTaskState, kept_tasks, merged_results, shown};
pub use execution::{dispatcher::DispatcherReport, recovery::RecoveryReport};
pub use maintenance::{HistoryQuotasReport, retention::RetentionReport, stats::StatsReport};
pub use planning::{backfill::BackfillReport, planner::PlannerReport};
pub use services::{Engine, Status};
pub use settings::EngineSettings;
pub use signals::Signals;
#[doc(hidden)]
pub use stepwise::{Stepwise, StepwiseService};
