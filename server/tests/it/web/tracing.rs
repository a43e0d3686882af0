//! Traces and metrics over OTLP, as a collector receives them.

use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, routing::post};
use entity::task_log;
use opentelemetry_proto::tonic::{
    collector::{
        metrics::v1::{
            ExportMetricsServiceRequest, ExportMetricsServiceResponse,
            metrics_service_server::{MetricsService, MetricsServiceServer},
        },
        trace::v1::{
            ExportTraceServiceRequest, ExportTraceServiceResponse,
            trace_service_server::{TraceService, TraceServiceServer},
        },
    },
    metrics::v1::{AggregationTemporality, Metric, metric::Data},
    trace::v1::{Span, span::SpanKind},
};
use prost::Message;
use sea_orm::EntityTrait;
use serde_json::json;
use tokio::net::TcpListener;
use tonic::{
    Request, Response, Status,
    transport::{Server as Rpc, server::TcpIncoming},
};

use super::instruments::{documented, families};
use crate::support::{Command, Server, Socket, TestDatabase, on_both};

on_both!(a_fire_is_one_trace_through_to_its_target, a_collector_may_be_spoken_to_over_http,);

/// The exported data.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Heard>>);

#[derive(Default)]
struct Heard {
    spans: Vec<Span>,
    resources: Vec<String>,
    metrics: Vec<Metric>,
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let mut heard = self.0.lock().unwrap();
        for batch in request.into_inner().resource_spans {
            heard.resources.push(format!("{:?}", batch.resource));
            heard.spans.extend(batch.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Collector {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let mut heard = self.0.lock().unwrap();
        for batch in request.into_inner().resource_metrics {
            heard.resources.push(format!("{:?}", batch.resource));
            heard.metrics.extend(batch.scope_metrics.into_iter().flat_map(|scope| scope.metrics));
        }
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

impl Collector {
    /// Listens; returns its address.
    async fn start(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = Rpc::builder()
            .add_service(TraceServiceServer::new(self.clone()))
            .add_service(MetricsServiceServer::new(self.clone()))
            .serve_with_incoming(TcpIncoming::from(listener));
        tokio::spawn(serving);
        format!("http://{address}")
    }

    /// Listens for OTLP over HTTP; returns its address.
    async fn start_http(&self) -> String {
        let spans = async |State(collector): State<Self>, body: Bytes| {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            TraceService::export(&collector, Request::new(request)).await.unwrap();
        };
        let metrics = async |State(collector): State<Self>, body: Bytes| {
            let request = ExportMetricsServiceRequest::decode(body).unwrap();
            MetricsService::export(&collector, Request::new(request)).await.unwrap();
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/otel/v1/traces", post(spans))
            .route("/otel/v1/metrics", post(metrics))
            .with_state(self.clone());
        tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        format!("http://{address}/otel/")
    }
}

async fn a_collector_may_be_spoken_to_over_http(database: TestDatabase) {
    let collector = Collector::default();
    let endpoint = collector.start_http().await;
    let settings = format!("[otlp]\nendpoint = '{endpoint}'\nprotocol = 'http'\n");
    let server = Server::start_configured(&database, &settings);
    // At its end, the server sends the data that it has not sent yet.
    let stopped = tokio::task::spawn_blocking(|| server.stop()).await.unwrap();
    assert_eq!(stopped, 0);
    let heard = collector.0.lock().unwrap();
    assert!(
        heard.metrics.iter().any(|metric| metric.name == "carillon.info"),
        "{:?}",
        heard.metrics
    );
    assert!(heard.resources.iter().all(|of| of.contains("carillon")), "{:?}", heard.resources);
}

/// A receiver of requests that remembers their `traceparent`s; returns its address.
async fn receiver(seen: Arc<Mutex<Vec<String>>>) -> String {
    let take = async |State(seen): State<Arc<Mutex<Vec<String>>>>, headers: HeaderMap| {
        seen.lock().unwrap().push(headers["traceparent"].to_str().unwrap().to_owned());
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/{*path}", post(take)).with_state(seen);
    tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
    format!("http://{address}")
}

async fn a_fire_is_one_trace_through_to_its_target(database: TestDatabase) {
    let (collector, seen) = (Collector::default(), Arc::default());
    let (endpoint, url) = (collector.start().await, receiver(Arc::clone(&seen)).await);
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("module.yaml");
    let source = format!(
        r#"
module: traced
schedules:
  one-task:
    when: "* * * * * *"
    task: {{ target: {{ http: {{ url: "{url}/kept-to-itself" }} }} }}
  two-tasks:
    when: "* * * * * *"
    workflow: two
workflows:
  two:
    tasks:
      - {{ name: first, target: {{ noop: {{}} }} }}
      - name: second
        needs: [first]
        target: {{ command: {{ program: /usr/bin/printenv, args: [TRACEPARENT] }} }}
"#
    );
    fs::write(&module, source).unwrap();
    let token = Command::new(&["token", "create", "ci", "--role", "viewer"]).on(&database);
    let token = token.run().done().trim().to_owned();
    let flags = ["--apply", module.to_str().unwrap(), "--otlp-endpoint", &endpoint];
    let flags = [&flags[..], &["--allow-private-addresses", "--allow-commands"]].concat();
    let server = Server::start_with(&database, &flags);
    let mut socket = Socket::open(Socket::request(&server, "/graphql/ws")).await;
    socket.init(json!({ "token": token })).await.unwrap();
    let query = "subscription { runEvents { run { state schedule { name } } } }";
    let payload = json!({ "query": query });
    socket.send(json!({ "id": "1", "type": "subscribe", "payload": payload })).await;
    let both = async {
        let mut left = vec!["one-task", "two-tasks"];
        while !left.is_empty() {
            let event = socket.next().await.unwrap();
            let run = &event["payload"]["data"]["runEvents"]["run"];
            assert_ne!(run["state"], "FAILED", "{event}");
            left.retain(|name| run["state"] != "SUCCEEDED" || run["schedule"]["name"] != *name);
        }
    };
    tokio::time::timeout(Duration::from_secs(60), both).await.unwrap();
    let scraped = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    // At its end, the server sends the data that it has not sent yet.
    let stopped = tokio::task::spawn_blocking(|| server.stop()).await.unwrap();
    assert_eq!(stopped, 0);

    let lines = task_log::Entity::find().all(database.store.read()).await.unwrap();
    let printed = lines.iter().find(|line| line.text.starts_with("00-")).unwrap();
    let heard = collector.0.lock().unwrap();
    assert!(heard.resources.iter().all(|of| of.contains("carillon")), "{:?}", heard.resources);
    the_metrics_are_those_of_a_scrape(&heard.metrics, &scraped);
    let told = seen.lock().unwrap()[0].clone();
    the_spans_make_one_trace(&heard.spans, &told, "http");
    the_spans_make_one_trace(&heard.spans, &printed.text, "command");
    assert!(!format!("{:?}", heard.spans).contains("kept-to-itself"));
}

/// The dashboard and the alert rules work with the metrics in a collector as they do with those of
/// a scrape.
fn the_metrics_are_those_of_a_scrape(heard: &[Metric], scraped: &str) {
    let heard: BTreeMap<String, &str> = heard.iter().map(in_prometheus).collect();
    let documented = documented();
    for (name, kind) in &heard {
        let family = documented.get(name).unwrap_or_else(|| panic!("{name} is in no document"));
        assert_eq!(family.kind, *kind, "{name}");
    }
    let shown = families(scraped);
    assert!(shown.len() > 15, "{shown:?}");
    // Only a scrape has these metrics: the resource, and the figures of the process.
    let is_sent = |name: &str| name != "target_info" && !name.starts_with("process_");
    for (name, family) in shown.iter().filter(|(name, _)| is_sent(name)) {
        assert_eq!(heard.get(name), Some(&&*family.kind), "{name} in {heard:?}");
    }
}

/// The name that Prometheus gives a metric received over OTLP with its default strategy
/// (`UnderscoreEscapingWithSuffixes`): the unit is written out, and counters get `_total`.
fn in_prometheus(metric: &Metric) -> (String, &'static str) {
    let unit = match &*metric.unit {
        "" => "",
        "s" => "_seconds",
        other => panic!("{} has the unit {other}", metric.name),
    };
    let (kind, total, temporality) = match metric.data.as_ref().expect("points") {
        Data::Gauge(_) => ("gauge", "", None),
        Data::Sum(sum) if sum.is_monotonic => {
            ("counter", "_total", Some(sum.aggregation_temporality()))
        }
        Data::Histogram(histogram) => ("histogram", "", Some(histogram.aggregation_temporality())),
        other @ (Data::Sum(_) | Data::ExponentialHistogram(_) | Data::Summary(_)) => {
            panic!("{} is {other:?}", metric.name)
        }
    };
    // Prometheus accepts only cumulative values, no deltas.
    let cumulative = AggregationTemporality::Cumulative;
    assert!(temporality.is_none_or(|of| of == cumulative), "{}", metric.name);
    let name = metric.name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    (format!("{name}{unit}{total}"), kind)
}

/// Checks that the spans form one trace, from the fire to the target, which received `traceparent`.
fn the_spans_make_one_trace(spans: &[Span], traceparent: &str, target: &str) {
    let hex = |id: &[u8]| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let parts: Vec<&str> = traceparent.split('-').collect();
    let [_, trace, parent, "01"] = parts[..] else { panic!("{traceparent}") };
    let spans: Vec<&Span> = spans.iter().filter(|span| hex(&span.trace_id) == trace).collect();
    let parent_of = |span: &Span| {
        let parent = spans.iter().find(|other| other.span_id == span.parent_span_id);
        parent.map(|parent| parent.name.clone())
    };
    let named = |name: &str| {
        let found = spans.iter().find(|span| span.name == name);
        found.unwrap_or_else(|| panic!("no {name} in {spans:#?}"))
    };
    assert_eq!(parent_of(named("fire")), None);
    assert!(named("fire").parent_span_id.is_empty());
    for (name, parent) in [("claim", "fire"), ("hand-off", "fire"), ("run", "fire")] {
        assert_eq!(parent_of(named(name)).as_deref(), Some(parent), "{name}");
    }
    for task in spans.iter().filter(|span| span.name == "task") {
        assert_eq!(parent_of(task).as_deref(), Some("run"));
    }
    let at_target = spans.iter().find(|span| hex(&span.span_id) == parent).expect("the target");
    assert_eq!((&*at_target.name, at_target.kind()), ("target", SpanKind::Client));
    assert_eq!(parent_of(at_target).as_deref(), Some("task"));
    assert!(format!("{:?}", at_target.attributes).contains(target), "{at_target:?}");
    for span in &spans {
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{span:?}");
    }
    assert!(named("fire").start_time_unix_nano <= named("run").start_time_unix_nano);
}
