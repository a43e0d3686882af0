use serde::Deserialize;

use super::listed;

/// The log.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// The format of log lines.
    pub format: LogFormat,
    /// The filter: a level, or targets with levels.
    pub filter: String,
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Plain text for people.
    Text,
    /// JSON for programs: one object per line.
    Json,
}

/// An OpenTelemetry collector.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Otlp {
    /// The collector's URL; nothing is exported if absent.
    pub endpoint: Option<String>,
    /// The protocol.
    pub protocol: OtlpProtocol,
    /// The share of runs that are traced, 0 to 1.
    pub trace_ratio: f64,
}

/// The transport of OTLP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtlpProtocol {
    /// gRPC, on port 4317 by convention.
    #[default]
    Grpc,
    /// Protobuf in the body of an HTTP request, on port 4318 by convention. The path of the signal,
    /// such as `/v1/traces`, is appended to the endpoint.
    Http,
}

/// Additional metrics.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Metrics {
    /// Schedules with their own series, as `NAMESPACE/NAME`.
    #[serde(deserialize_with = "listed")]
    pub schedules: Vec<String>,
}

/// A built-in schedule that measures how late fires are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Canary {
    /// Whether the canary fires, once a minute; `None` leaves its state unchanged.
    pub enabled: Option<bool>,
}

impl Default for Log {
    fn default() -> Self {
        let filter = "info,memory_serve=warn,opentelemetry=warn,opentelemetry_sdk=warn,\
                      sea_orm_migration=warn,sqlx=warn";
        Self { format: LogFormat::Text, filter: filter.to_owned() }
    }
}

impl Default for Otlp {
    fn default() -> Self {
        Self { endpoint: None, protocol: OtlpProtocol::Grpc, trace_ratio: 1.0 }
    }
}
