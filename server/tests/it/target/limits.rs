use std::{convert::Infallible, time::Duration};

use axum::{Router, body::Body, routing::post};
use carillon::target::{AttemptOutcome, Invocation, Policy, Stream};
use futures::stream;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::support::{executor, invocation, open, run, run_with, serve, succeeded, target, texts};

fn brief() -> Invocation {
    Invocation { timeout: Duration::from_millis(100), ..invocation() }
}

#[tokio::test]
async fn an_endless_answer_is_read_up_to_the_limit() {
    let endless =
        async || Body::from_stream(stream::repeat_with(|| Ok::<_, Infallible>(vec![b'x'; 1000])));
    let address = serve(Router::new().route("/", post(endless))).await;
    let policy = Policy { output_limit_bytes: 2500, ..open() };
    let (outcome, lines) =
        run(policy, json!({"http": {"url": format!("http://{address}/")}})).await;
    let output = succeeded(outcome);
    assert_eq!(output["body_truncated"], true);
    assert_eq!(output["body"], "x".repeat(2500));
    let last = *texts(&lines, Stream::System).last().unwrap();
    assert!(last.contains("output truncated: more than 2500 bytes"), "{last}");
}

#[tokio::test]
async fn a_large_answer_is_stored_in_part() {
    let json = async || axum::Json(json!({ "name": "x".repeat(100_000) }));
    let text = async || "x".repeat(100_000);
    let router = Router::new().route("/json", post(json)).route("/text", post(text));
    let address = serve(router).await;
    let send = async |path| {
        let target = json!({"http": {"url": format!("http://{address}/{path}")}});
        succeeded(run(open(), target).await.0)
    };
    let output = send("json").await;
    assert_eq!(output["body_truncated"], false);
    assert_eq!(output["body"]["name"], "x".repeat(100_000));
    let output = send("text").await;
    assert_eq!(output["body_truncated"], true);
    assert_eq!(output["body"], "x".repeat(64 * 1024));
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_is_a_timeout() {
    let address = serve(Router::new().route("/", post(std::future::pending::<()>))).await;
    let definition = json!({"http": {"url": format!("http://{address}/")}});
    let (outcome, _) = run_with(open(), definition, &brief()).await;
    let AttemptOutcome::TimedOut { message, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(message, format!("{address} did not answer within 0.1 s"));
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_a_timeout() {
    let stuck = async || Body::from_stream(stream::pending::<Result<Vec<u8>, Infallible>>());
    let address = serve(Router::new().route("/", post(stuck))).await;
    let definition = json!({"http": {"url": format!("http://{address}/")}});
    // Five seconds are enough for the head of the answer on any machine.
    let patient = Invocation { timeout: Duration::from_secs(5), ..invocation() };
    let (outcome, _) = run_with(open(), definition, &patient).await;
    let AttemptOutcome::TimedOut { message, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(message, format!("the answer of {address} did not end within 5 s"));
}

#[tokio::test]
async fn a_stop_ends_a_request_that_is_under_way() {
    let stop = CancellationToken::new();
    let arrived = stop.clone();
    let never = async move || {
        arrived.cancel();
        std::future::pending::<()>().await;
    };
    let address = serve(Router::new().route("/", post(never))).await;
    let (lines, _received) = mpsc::channel(10);
    let target = target(json!({"http": {"url": format!("http://{address}/")}}));
    let outcome = executor(open()).execute(&target, &invocation(), lines, stop).await;
    assert!(matches!(outcome, AttemptOutcome::Cancelled { .. }), "{outcome:?}");
}

#[tokio::test]
async fn noop_succeeds_at_once() {
    let (outcome, lines) = run(Policy::default(), json!({"noop": {}})).await;
    assert_eq!(succeeded(outcome), json!({}));
    assert!(lines.is_empty());
}
