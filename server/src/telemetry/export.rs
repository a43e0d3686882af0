use std::{sync::Arc, time::Duration};

use opentelemetry::metrics::MeterProvider;
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkError,
    metrics::{MeterProviderBuilder, SdkMeterProvider},
    trace::{BatchSpanProcessor, SpanProcessor},
};
#[cfg(target_os = "linux")]
use prometheus::process_collector::ProcessCollector;
use prometheus::{Registry, TextEncoder};
use rustls::{ClientConfig, RootCertStore, crypto::ring};

use super::{Instruments, Traces, logs};
use crate::{
    clock::Clock,
    config::{self, OtlpProtocol, shown_url},
};

/// How long the last export may delay the end of the process.
pub(super) const FLUSH: Duration = Duration::from_secs(5);

/// How long a collector that accepts OTLP over HTTP may take to respond.
const HTTP_TIMEOUT: Duration = Duration::from_secs(10);

/// Why telemetry could not be set up. Messages are printed after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter is invalid.
    #[error(
        "read log.filter: '{value}' is not a filter ({problem}); give a level or targets with \
         levels, such as 'info' or 'warn,carillon=debug'"
    )]
    Filter {
        /// The filter as given.
        value: String,
        /// The parser's message.
        problem: String,
    },
    /// The exporter could not be built.
    #[error(
        "export to otlp.endpoint '{endpoint}': {problem}; \
         give the address of a collector, such as 'http://127.0.0.1:4317' for gRPC or \
         'http://127.0.0.1:4318' with otlp.protocol = 'http'"
    )]
    Exporter {
        /// The endpoint without a password.
        endpoint: String,
        /// The builder's error, without a password.
        problem: String,
    },
    /// The instruments could not be registered.
    #[error("register the metrics: {0}")]
    Registry(#[from] OTelSdkError),
    /// The process's own metrics could not be registered.
    #[error("register the metrics of the process: {0}")]
    Process(#[from] prometheus::Error),
    /// The process already has a subscriber.
    #[error("start logging: it was started before")]
    Twice,
}

/// The providers of logs, traces and metrics.
#[derive(Debug)]
pub struct Telemetry {
    traces: Traces,
    meters: SdkMeterProvider,
    registry: Registry,
    metrics: Instruments,
}

impl Telemetry {
    /// Sets up telemetry for the whole process, inside its runtime.
    pub fn start(
        log: &config::Log,
        otlp: &config::Otlp,
        node: &str,
        clock: Clock,
    ) -> Result<Self, TelemetryError> {
        let resource = Resource::builder()
            .with_service_name("carillon")
            .with_attribute(opentelemetry::KeyValue::new("service.instance.id", node.to_owned()))
            .with_attribute(opentelemetry::KeyValue::new(
                "service.version",
                env!("CARGO_PKG_VERSION"),
            ))
            .build();
        let registry = Registry::new();
        let mut meters = scraped(&registry)?.with_resource(resource.clone());
        let mut traces = Traces::default();
        if let Some(endpoint) = &otlp.endpoint {
            let failed = |error: ExporterBuildError| not_built(endpoint, &error);
            let Exporters { metrics, spans } =
                exporters(endpoint, otlp.protocol).map_err(failed)?;
            meters = meters.with_periodic_exporter(metrics);
            let mut processor = BatchSpanProcessor::builder(spans).build();
            processor.set_resource(&resource);
            traces = Traces::exported(processor, otlp.trace_ratio);
        }
        logs::start(log)?;
        let meters = meters.build();
        let metrics = Instruments::new(&meters.meter("carillon"), clock, traces.clone());
        Ok(Self { traces, meters, registry, metrics })
    }

    /// Instruments for tests, which read the registry; nothing is exported.
    pub fn unexported(clock: Clock) -> Result<Self, TelemetryError> {
        let registry = Registry::new();
        let (meters, traces) = (scraped(&registry)?.build(), Traces::default());
        let metrics = Instruments::new(&meters.meter("carillon"), clock, traces.clone());
        Ok(Self { traces, meters, registry, metrics })
    }

    /// The instruments.
    pub fn metrics(&self) -> &Instruments {
        &self.metrics
    }

    /// The registry in which the instruments can be read; see [`exposition`].
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Sends pending data. It may wait for the collector, so it must not be called on the reactor's
    /// threads.
    pub fn shutdown(&self) {
        if let Err(error) = self.traces.shutdown() {
            tracing::warn!(%error, "failed to send the last traces");
        }
        if let Err(error) = self.meters.shutdown_with_timeout(FLUSH) {
            tracing::warn!(%error, "failed to send the last metrics");
        }
    }
}

/// The builder's error repeats the endpoint, which may contain a password.
fn not_built(endpoint: &str, error: &ExporterBuildError) -> TelemetryError {
    let endpoint = endpoint.trim_end_matches('/');
    let shown = shown_url(endpoint);
    let problem = error.to_string().replace(endpoint, &shown);
    TelemetryError::Exporter { endpoint: shown, problem }
}

struct Exporters {
    metrics: MetricExporter,
    spans: SpanExporter,
}

fn exporters(endpoint: &str, protocol: OtlpProtocol) -> Result<Exporters, ExporterBuildError> {
    let (metrics, spans) = (MetricExporter::builder(), SpanExporter::builder());
    Ok(match protocol {
        OtlpProtocol::Grpc => Exporters {
            metrics: metrics.with_tonic().with_endpoint(endpoint).build()?,
            spans: spans.with_tonic().with_endpoint(endpoint).build()?,
        },
        OtlpProtocol::Http => {
            let client = http_client()?;
            let base = endpoint.trim_end_matches('/');
            Exporters {
                metrics: metrics
                    .with_http()
                    .with_http_client(client.clone())
                    .with_endpoint(format!("{base}/v1/metrics"))
                    .build()?,
                spans: spans
                    .with_http()
                    .with_http_client(client)
                    .with_endpoint(format!("{base}/v1/traces"))
                    .build()?,
            }
        }
    })
}

/// The HTTP client of the exporters. Their threads do not belong to the runtime, and wait for the
/// collector's response themselves. A blocking client must not be created inside a runtime, so a
/// separate thread creates it.
fn http_client() -> Result<reqwest::blocking::Client, ExporterBuildError> {
    let make = || {
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        reqwest::blocking::Client::builder()
            .tls_backend_preconfigured(tls)
            .timeout(HTTP_TIMEOUT)
            .build()
            .map_err(|error| error.to_string())
    };
    let made = std::thread::spawn(make).join();
    let made = made.unwrap_or_else(|_| Err("the thread that makes it panicked".to_owned()));
    made.map_err(|problem| ExporterBuildError::InternalFailure(format!("HTTP client: {problem}")))
}

/// Meters that are visible in a registry.
fn scraped(registry: &Registry) -> Result<MeterProviderBuilder, TelemetryError> {
    #[cfg(target_os = "linux")]
    registry.register(Box::new(ProcessCollector::for_self()))?;
    let scraped = opentelemetry_prometheus::exporter()
        .with_registry(registry.clone())
        .scope_info_enabled(false)
        .build()?;
    Ok(SdkMeterProvider::builder().with_reader(scraped))
}

/// The registry in Prometheus format.
pub fn exposition(registry: &Registry) -> Result<String, prometheus::Error> {
    TextEncoder::new().encode_to_string(&registry.gather())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exporter_that_cannot_be_built_is_named_without_its_password() {
        let problem = "cannot use http://ada:hush@collector:4318/v1/traces".to_owned();
        let error = ExporterBuildError::InternalFailure(problem);
        let told = not_built("http://ada:hush@collector:4318/", &error).to_string();
        assert!(told.contains("'http://***@collector:4318'"), "{told}");
        assert!(told.contains("***@collector:4318/v1/traces") && !told.contains("hush"), "{told}");
    }
}
