use std::io::IsTerminal;

use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::{EnvFilter, Layer, layer::SubscriberExt, util::SubscriberInitExt};

use super::TelemetryError;
use crate::config;

/// Sends log lines to standard error and spans to the provider, if there is one. Once a process.
pub(super) fn start(
    log: &config::Log,
    traces: Option<&SdkTracerProvider>,
) -> Result<(), TelemetryError> {
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
    // The exporter's own connection must not be traced: its spans would beget spans.
    let spans = traces
        .map(|provider| {
            let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("carillon"));
            let quiet = "info,h2=off,hyper=off,tonic=off,tower=off,opentelemetry=off";
            Ok::<_, TelemetryError>(layer.with_filter(filter(quiet)?))
        })
        .transpose()?;
    tracing_subscriber::registry()
        .with(lines.with_filter(filter(&log.filter)?))
        .with(spans)
        .try_init()
        .map_err(|_| TelemetryError::Twice)
}
