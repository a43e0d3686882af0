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

use super::{Metrics, Traces, logs};
use crate::{
    clock::Clock,
    config::{self, OtlpProtocol},
};

/// How long the last export may hold up the end of the process.
pub(super) const FLUSH: Duration = Duration::from_secs(5);

/// How long a collector that takes OTLP over HTTP may take to answer.
const HTTP_TIMEOUT: Duration = Duration::from_secs(10);

/// Why telemetry could not be set up. Messages read after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter is none.
    #[error(
        "read log.filter: '{value}' is no filter ({problem}); \
         give a level or targets with levels, such as 'info' or 'warn,carillon=debug'"
    )]
    Filter {
        /// As given.
        value: String,
        /// What the parser says.
        problem: String,
    },
    /// The exporter could not be built.
    #[error(
        "export to otlp.endpoint '{endpoint}': {source}; \
         give the address of a collector, such as 'http://127.0.0.1:4317' for gRPC or \
         'http://127.0.0.1:4318' with otlp.protocol = 'http'"
    )]
    Exporter {
        /// As given.
        endpoint: String,
        /// What the builder says.
        source: ExporterBuildError,
    },
    /// The instruments could not be registered.
    #[error("register the metrics: {0}")]
    Registry(#[from] OTelSdkError),
    /// Nor could those of the process.
    #[error("register the metrics of the process: {0}")]
    Process(#[from] prometheus::Error),
    /// The process has a subscriber already.
    #[error("start logging: it was started before")]
    Twice,
}

/// The providers behind the log, the traces and the metrics.
#[derive(Debug)]
pub struct Telemetry {
    traces: Traces,
    meters: SdkMeterProvider,
    registry: Registry,
    metrics: Metrics,
}

impl Telemetry {
    /// Sets them up for the whole process, inside its runtime.
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
            let failed = |source| TelemetryError::Exporter { endpoint: endpoint.clone(), source };
            let Exporters { metrics, spans } =
                exporters(endpoint, otlp.protocol).map_err(failed)?;
            meters = meters.with_periodic_exporter(metrics);
            let mut processor = BatchSpanProcessor::builder(spans).build();
            processor.set_resource(&resource);
            traces = Traces::exported(processor, otlp.trace_ratio);
        }
        logs::start(log)?;
        let meters = meters.build();
        let metrics = Metrics::new(&meters.meter("carillon"), clock, traces.clone());
        Ok(Self { traces, meters, registry, metrics })
    }

    /// Instruments that nothing exports: for tests, which read the registry.
    pub fn unexported(clock: Clock) -> Result<Self, TelemetryError> {
        let registry = Registry::new();
        let (meters, traces) = (scraped(&registry)?.build(), Traces::default());
        let metrics = Metrics::new(&meters.meter("carillon"), clock, traces.clone());
        Ok(Self { traces, meters, registry, metrics })
    }

    /// The instruments.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Where the instruments can be read; see [`exposition`].
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Sends what has not been sent. May wait for the collector: not for the reactor's threads.
    pub fn shutdown(&self) {
        if let Err(error) = self.traces.shutdown() {
            tracing::warn!(%error, "failed to send the last traces");
        }
        if let Err(error) = self.meters.shutdown_with_timeout(FLUSH) {
            tracing::warn!(%error, "failed to send the last metrics");
        }
    }
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

/// The exporters' threads are not the runtime's: they wait for the collector's answer by themselves.
/// A blocking client may not be made inside a runtime, so a thread of its own makes it.
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

/// Meters that a registry shows.
fn scraped(registry: &Registry) -> Result<MeterProviderBuilder, TelemetryError> {
    #[cfg(target_os = "linux")]
    registry.register(Box::new(ProcessCollector::for_self()))?;
    let scraped = opentelemetry_prometheus::exporter()
        .with_registry(registry.clone())
        .scope_info_enabled(false)
        .build()?;
    Ok(SdkMeterProvider::builder().with_reader(scraped))
}

/// The registry as Prometheus reads it.
pub fn exposition(registry: &Registry) -> Result<String, prometheus::Error> {
    TextEncoder::new().encode_to_string(&registry.gather())
}
