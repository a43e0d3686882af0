use std::io::IsTerminal;

use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

use super::TelemetryError;
use crate::config;

/// Sends log lines to standard error. Must be called once per process.
pub(crate) fn start(log: &config::Log) -> Result<(), TelemetryError> {
    let filter = |text: &str| {
        EnvFilter::try_new(text).map_err(|error| TelemetryError::Filter {
            value: text.to_owned(),
            problem: error.to_string(),
        })
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let colours = std::io::stderr().is_terminal();
    let lines = match log.format {
        config::LogFormat::Text => lines.with_target(false).with_ansi(colours).boxed(),
        config::LogFormat::Json => {
            lines.json().flatten_event(true).with_current_span(true).with_span_list(false).boxed()
        }
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter(&log.filter)?))
        .try_init()
        .map_err(|_| TelemetryError::Twice)
}
