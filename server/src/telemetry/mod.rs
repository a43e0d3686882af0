//! What the process tells about itself: log lines, traces and metrics.
//!
//! A leaf: every layer may record here, and it knows none of them. Log lines go to standard error,
//! so that standard output stays free for answers. Traces and metrics go to an OpenTelemetry
//! collector when one is configured; metrics can always be scraped in Prometheus' format.
//!
//! - `metrics`: [`Metrics`], every instrument, named once
//! - `labels`: the schedules that have series of their own
//! - `traces`: [`Traces`], one trace a fire
//! - `sampled`, `fleet`: what is counted in the database, and not here; and its gauges
//! - `rates`, `window`: the last minute's executions, for the rates that are not counters
//! - `brokers`: what is published
//! - `connections`: how close HTTP is to the limit of its connections
//! - `logs`: the subscriber: text or JSON, filtered
//! - `export`: the providers behind it, and flushing them at the end

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
pub use connections::NoPlace;
pub use export::{Telemetry, TelemetryError, exposition};
pub use metrics::{Metrics, Recovery, SignIn};
pub use sampled::{Canary, Sampled};
pub use traces::{TracedAttempt, TracedFire, TracedRun, Traces};
