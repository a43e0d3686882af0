use std::{process::Command, time::Duration};

use axum::{Router, http::StatusCode, routing::post};
use serde_json::{Value, json};

use crate::support::{Broker, tool};

use super::{
    super::support::{executor, failed, open, serve, succeeded, target},
    faults::{attempt, published, refused},
};

/// A server whose queues behave like those of SQS.
pub(super) async fn server() -> Broker {
    Broker::start(
        1,
        |_, ports| {
            let mut command = Command::new(tool("moto_server"));
            command.args(["-H", "127.0.0.1", "-p", &ports[0].to_string()]);
            command
        },
        |_, _| true,
    )
    .await
}

/// Sends a request as a client would.
pub(super) async fn ask(sqs: &Broker, action: &str, asked: Value) -> Value {
    let credentials = "AWS4-HMAC-SHA256 Credential=test/20260101/eu-central-1/sqs/aws4_request";
    let request = reqwest::Client::builder()
        .tls_backend_preconfigured(
            rustls::ClientConfig::builder_with_provider(std::sync::Arc::new(
                rustls::crypto::ring::default_provider(),
            ))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth(),
        )
        .build()
        .unwrap()
        .post(format!("http://{}/", sqs.server()))
        .header("x-amz-target", format!("AmazonSQS.{action}"))
        .header("content-type", "application/x-amz-json-1.0")
        .header("authorization", format!("{credentials}, SignedHeaders=host, Signature=0"))
        .body(asked.to_string());
    let answer = request.send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap_or_default()
}

/// Creates a queue; returns its address.
pub(super) async fn queue(sqs: &Broker, name: &str, attributes: Value) -> String {
    let mut attributes = attributes;
    if name.ends_with(".fifo") {
        attributes["FifoQueue"] = json!("true");
    }
    let asked = json!({ "QueueName": name, "Attributes": attributes });
    let made = ask(sqs, "CreateQueue", asked).await;
    made["QueueUrl"].as_str().unwrap().replace("localhost", "127.0.0.1")
}

pub(super) async fn received(sqs: &Broker, queue: &str) -> Vec<Value> {
    let asked = json!({
        "QueueUrl": queue, "MaxNumberOfMessages": 10, "MessageAttributeNames": ["All"],
        "AttributeNames": ["All"],
    });
    let answer = ask(sqs, "ReceiveMessage", asked).await;
    answer["Messages"].as_array().cloned().unwrap_or_default()
}

pub(super) fn definition(queue: &str, event: Value) -> Value {
    json!({ "publish": {
        "to": { "sqs": {
            "queue_url": queue, "region": "eu-central-1", "access_key_id": "test",
            "secret_access_key": "sesame",
        } },
        "event": event,
    } })
}

#[tokio::test]
async fn an_event_is_in_the_queue_under_the_id_that_the_attempt_shows() {
    let sqs = server().await;
    let queue = queue(&sqs, "orders", json!({})).await;
    let event = json!({ "payload": { "a": "ä" }, "headers": { "x-team": "blue" } });
    let output = published(definition(&queue, event)).await;
    let messages = received(&sqs, &queue).await;
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["MessageId"], output["message_id"]);
    let attributes = &messages[0]["MessageAttributes"];
    assert_eq!(attributes["content-type"]["StringValue"], "application/cloudevents+json");
    assert_eq!(attributes["x-team"]["StringValue"], "blue");
    let event: Value = serde_json::from_str(messages[0]["Body"].as_str().unwrap()).unwrap();
    assert_eq!(event["id"], "nightly-1700000000");
    assert_eq!(event["data"]["payload"], json!({ "a": "ä" }));
}

#[tokio::test]
async fn an_event_is_in_an_ordered_queue_once_however_often_it_is_published() {
    let sqs = server().await;
    let queue = queue(&sqs, "orders.fifo", json!({})).await;
    for _ in 0..2 {
        published(definition(&queue, json!({ "mode": "binary" }))).await;
    }
    let messages = received(&sqs, &queue).await;
    assert_eq!(messages.len(), 1);
    let ours = &messages[0]["Attributes"];
    assert_eq!(ours["MessageGroupId"], "nightly");
    assert_eq!(ours["MessageDeduplicationId"], "nightly-1700000000");
    let attributes = &messages[0]["MessageAttributes"];
    assert_eq!(attributes["ce_id"]["StringValue"], "nightly-1700000000");
}

#[tokio::test]
async fn a_queue_that_is_not_there_and_a_server_that_is_away_are_the_attempts_error() {
    let mut sqs = server().await;
    let queue = queue(&sqs, "orders", json!({})).await;
    let message = refused(definition(&queue.replace("orders", "other"), json!({}))).await;
    let start = "127.0.0.1 answered 400 Bad Request: ";
    assert!(message.starts_with(start) && message.contains("does not exist"), "{message}");
    sqs.kill();
    let message = refused(definition(&queue, json!({}))).await;
    assert!(message.starts_with("could not reach 127.0.0.1: "), "{message}");
}

/// The server is away at the start, and once more after it was used.
#[tokio::test]
async fn a_server_that_is_away_is_found_again() {
    let mut sqs = server().await;
    let address = queue(&sqs, "orders", json!({})).await;
    let (executor, target) = (executor(open()), target(definition(&address, json!({}))));
    let limit = Duration::from_secs(20);
    for event in ["a-1", "a-2"] {
        sqs.kill();
        for number in 1..=2 {
            let (message, _) = failed(attempt(&executor, &target, event, number, limit).await);
            assert!(message.starts_with("could not reach 127.0.0.1: "), "{message}");
        }
        let report = &executor.broker_reports()[0];
        assert!(!report.is_open && report.failing.is_some(), "{report:?}");
        sqs.go_on().await;
        // This server has no stored data.
        assert_eq!(queue(&sqs, "orders", json!({})).await, address);
        succeeded(attempt(&executor, &target, event, 3, limit).await);
        let reports = executor.broker_reports();
        assert!(reports[0].is_open && reports[0].failing.is_none(), "{reports:?}");
        assert_eq!(
            (reports.len(), reports[0].place.clone()),
            (1, format!("http://{}", sqs.server()))
        );
    }
    let counts = executor.broker_counts();
    let counts = counts.iter().find(|counts| counts.broker == "sqs").unwrap();
    assert_eq!((counts.acknowledged, counts.failed), (2, 4));
    assert_eq!((counts.open, counts.unreachable), (1, 0));
}

/// The test's server for SQS accepts any credentials, so this one answers as SQS does.
#[tokio::test]
async fn wrong_credentials_are_the_attempts_error() {
    let refuse = async || {
        let kind = "com.amazon.coral.service#UnrecognizedClientException";
        let text = "The security token included in the request is invalid.";
        (StatusCode::FORBIDDEN, json!({ "__type": kind, "message": text }).to_string())
    };
    let router = Router::new().route("/", post(refuse));
    let queue = format!("http://{}/1/orders", serve(router).await);
    assert_eq!(
        refused(definition(&queue, json!({}))).await,
        "127.0.0.1 answered 403 Forbidden: UnrecognizedClientException The security token \
         included in the request is invalid."
    );
}
