//! Telemetry of the process: log lines, traces and metrics.
//!
//! Every layer may use this module, and it depends on none of them. Log lines go to standard error,
//! so that standard output is free for command output. Traces and metrics go to an OpenTelemetry
//! collector if one is configured; metrics can always be scraped in Prometheus format.
//!
//! - `metrics`: [`Instruments`], every instrument, named once
//! - `labels`: the schedules that have series of their own
//! - `traces`: [`Traces`], one trace per fire
//! - `sampled`, `fleet`: figures that are counted in the database, and their gauges
//! - `rates`, `window`: executions of the last minute, for the rates that are not counters
//! - `brokers`: counts of published events
//! - `connections`: HTTP connections, compared with their limit
//! - `logs`: the subscriber: text or JSON, filtered
//! - `export`: the underlying providers, and flushing them at shutdown

mod brokers;
mod connections;
mod export;
mod fleet;
mod labels;
mod logs;
mod metrics;
mod rates;
mod sampled;
mod traces;
mod window;

pub use brokers::BrokerCounts;
pub use connections::ConnectionRefusal;
pub use export::{Telemetry, TelemetryError, exposition};
pub(crate) use logs::start as start_logging;
pub use metrics::{Instruments, RecoveryKind, SignIn};
pub use sampled::{BudgetSample, CanaryFire, Sampled};
pub use traces::{TracedAttempt, TracedFire, TracedRun, Traces};
