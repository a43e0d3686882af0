//! What the process tells about itself: log lines, traces and metrics.
//!
//! A leaf: every room may record here, and it knows none of them. Log lines go to standard error,
//! so that standard output stays free for answers. Traces and metrics go to an OpenTelemetry
//! collector when one is configured; metrics can always be scraped in Prometheus' format.
//!
//! - `metrics`: [`Metrics`], every instrument, named once
//! - `window`: the last minute's executions, for the rates that are not counters
//! - `logs`: the subscriber: text or JSON, filtered, with the traces' layer
//! - `export`: the providers behind it, and flushing them at the end

mod export;
mod logs;
mod metrics;
mod window;

pub use export::{Telemetry, TelemetryError, exposition};
pub use metrics::{Metrics, Recovery, SignIn};
