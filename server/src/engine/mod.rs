//! The engine: services that carry out what the tables say.
//!
//! Promises: every instant at which an enabled schedule is due gets one row in the ledger. The row
//! is written before anything happens, and ends with a verdict and a reason; nothing runs without
//! such a row. Each service is `run_once(now) -> Report` inside one shared loop, woken by a signal
//! or a timer. A wake-up carries no data: a service always reads its work afresh from the tables,
//! so a lost wake-up costs time and a duplicate one nothing. Pure functions make the decisions (in
//! the `timetable` crate and in `settle`, `handoff`, `planner`); the store does the writing. The
//! engine knows nothing of GraphQL, HTTP or sessions.
//!
//! The services by purpose:
//!
//! - `planning`: decides on instants that are due or were missed
//! - `execution`: carries out runs
//! - `cluster`: shares the work among nodes, and keeps a node that must not schedule from doing so
//! - `alerting`: reports failures to people, and successes to watchdogs
//! - `maintenance`: removes old history, counts it, and checks the cluster's health
//!
//! `jobs` hands attempts to workers.
//!
//! Shared parts: `core`, `service`, `signals` and `settings`; `places` divides a node's capacity
//! among the namespaces and schedules that compete for it, and `quotas` limits how much of the
//! server a namespace may use. `running` starts and stops all services; `stepwise` lets a
//! simulation choose which service runs next.
//!
//! A fire's life: `planner` claims it (phase 1), `handoff` turns it into a run (phase 2), `attempt`
//! carries the run out, `settler` writes its outcome. `dispatcher` takes runs that wait for
//! capacity or for their next attempt; `flow` conducts runs of several tasks; `buffer` keeps fires
//! that wait for a blocking run and releases the next one when that run has settled; `recovery`
//! finds the work that a dead process left behind.

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
pub(crate) use execution::flow::{ShownTaskState, kept_tasks, merged_results, shown};
pub use execution::{dispatcher::DispatcherReport, recovery::RecoveryReport};
pub use maintenance::{HistoryQuotasReport, retention::RetentionReport, stats::StatsReport};
pub use planning::{backfill::BackfillReport, planner::PlannerReport};
pub use running::{Engine, Status};
pub use settings::Settings;
pub use signals::Signals;
#[doc(hidden)]
pub use stepwise::{Stepwise, StepwiseService};
