//! Helpers for a single attempt, and a receiver of its requests.

use std::{net::SocketAddr, path::Path, time::Duration};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, Uri},
};
use carillon::{
    clock::Clock,
    target::{AttemptOutcome, Executor, Invocation, Line, Policy, Stream, Target},
};
use chrono::DateTime;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::mpsc};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// A policy that allows servers on this machine.
pub(super) fn open() -> Policy {
    Policy { commands: true, private_addresses: true, ..Policy::default() }
}

pub(super) fn executor(policy: Policy) -> Executor {
    Executor::new(policy, Clock::system()).unwrap()
}

pub(super) fn target(definition: Value) -> Target {
    serde_json::from_value(definition).unwrap()
}

pub(super) fn invocation() -> Invocation {
    Invocation {
        run_id: Uuid::from_u128(7),
        attempt: 2,
        task: "main".to_owned(),
        namespace: "default".to_owned(),
        namespace_id: Uuid::nil(),
        priority: 0,
        schedule: Some("nightly".to_owned()),
        schedule_id: Some(Uuid::from_u128(8)),
        schedule_version: Some(3),
        scheduled_at: DateTime::from_timestamp(1_700_000_000, 0),
        idempotency_key: "nightly-1700000000".to_owned(),
        traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
        context: json!({"customer": 42}),
        timeout: Duration::from_secs(60),
        kill_grace: Duration::from_secs(5),
    }
}

/// Executes a definition to its end.
pub(super) async fn run(policy: Policy, definition: Value) -> (AttemptOutcome, Vec<Line>) {
    run_with(policy, definition, &invocation()).await
}

pub(super) async fn run_with(
    policy: Policy,
    definition: Value,
    invocation: &Invocation,
) -> (AttemptOutcome, Vec<Line>) {
    let (lines, mut received) = mpsc::channel(1000);
    let outcome = executor(policy)
        .execute(&target(definition), invocation, lines, CancellationToken::new())
        .await;
    let mut all = Vec::new();
    while let Some(line) = received.recv().await {
        all.push(line);
    }
    (outcome, all)
}

/// The texts from one stream.
pub(super) fn texts(lines: &[Line], stream: Stream) -> Vec<&str> {
    lines.iter().filter(|line| line.stream == stream).map(|line| line.text.as_str()).collect()
}

#[track_caller]
pub(super) fn succeeded(outcome: AttemptOutcome) -> Value {
    let AttemptOutcome::Succeeded { output } = outcome else {
        panic!("it did not succeed: {outcome:?}")
    };
    output
}

#[track_caller]
pub(super) fn failed(outcome: AttemptOutcome) -> (String, Value) {
    let AttemptOutcome::Failed { message, output } = outcome else {
        panic!("it did not fail: {outcome:?}")
    };
    (message, output)
}

/// Serves `router` on a free port for as long as the test runs.
pub(super) async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    address
}

/// A request as it arrived.
pub(super) struct Received {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Received {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A receiver that accepts everything and shows what arrived.
pub(super) async fn receiver() -> (SocketAddr, mpsc::UnboundedReceiver<Received>) {
    let (requests, received) = mpsc::unbounded_channel();
    let router = Router::new().fallback(keep).with_state(requests);
    (serve(router).await, received)
}

async fn keep(
    State(requests): State<mpsc::UnboundedSender<Received>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> &'static str {
    requests.send(Received { method, uri, headers, body }).unwrap();
    "accepted"
}

/// Creates a named pipe. Opening one end waits for the other; the reader sees the end of the pipe
/// when all writers are gone.
pub(super) fn fifo(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}
