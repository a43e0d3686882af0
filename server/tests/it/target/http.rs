use axum::{
    Json, Router,
    http::{StatusCode, header},
    routing::{get, post},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use carillon::target::Stream;
use chrono::{DateTime, Utc};
use ring::hmac;
use serde_json::{Value, json};

use super::support::{failed, open, receiver, run, serve, succeeded, texts};

#[tokio::test]
async fn a_request_says_which_fire_it_is() {
    let (address, mut received) = receiver().await;
    let (outcome, lines) =
        run(open(), json!({"http": {"url": format!("http://{address}/hook")}})).await;

    let request = received.recv().await.unwrap();
    assert_eq!(request.method, "POST");
    assert_eq!(request.header("idempotency-key"), Some("nightly-1700000000"));
    assert_eq!(
        request.header("traceparent"),
        Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    );
    assert_eq!(request.header("user-agent"), Some(concat!("carillon/", env!("CARGO_PKG_VERSION"))));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("webhook-signature"), None);
    let mut body: Value = serde_json::from_slice(&request.body).unwrap();
    let generated_at = body.as_object_mut().unwrap().remove("generated_at").unwrap();
    assert!(generated_at.as_str().unwrap().parse::<DateTime<Utc>>().is_ok(), "{generated_at}");
    assert_eq!(
        body,
        json!({
            "id": "nightly-1700000000",
            "namespace": "default",
            "schedule_id": "00000000-0000-0000-0000-000000000008",
            "schedule": "nightly",
            "version": 3,
            "scheduled_at": "2023-11-14T22:13:20Z",
            "run_id": "00000000-0000-0000-0000-000000000007",
            "attempt": 2,
            "context": {"customer": 42},
        })
    );
    let output = succeeded(outcome);
    assert_eq!((&output["status"], &output["body"]), (&json!(200), &json!("accepted")));
    let said = texts(&lines, Stream::System);
    assert_eq!(said[0], format!("POST http://{address}"));
    assert!(said[1].starts_with(&format!("{address} answered 200 OK, 8 bytes in ")), "{said:?}");
}

#[tokio::test]
async fn method_headers_and_body_are_those_of_the_definition() {
    let (address, mut received) = receiver().await;
    for (body, sent, content_type) in [
        (json!("plain"), "plain", Some("text/plain; charset=utf-8")),
        (json!({"a": [1]}), r#"{"a":[1]}"#, Some("application/json")),
        (json!(" {\"a\": 1}"), " {\"a\": 1}", Some("application/json")),
        (json!("[1]"), "[1]", Some("application/json")),
        (json!("[1"), "[1", Some("text/plain; charset=utf-8")),
        (json!("1"), "1", Some("text/plain; charset=utf-8")),
        (json!(""), "", None),
    ] {
        let (outcome, _) = run(
            open(),
            json!({"http": {
                "url": format!("http://{address}/p?q=1"),
                "method": "PUT",
                "headers": {"Authorization": "Bearer hush"},
                "body": body,
            }}),
        )
        .await;
        succeeded(outcome);
        let request = received.recv().await.unwrap();
        assert_eq!((request.method.as_str(), request.uri.to_string().as_str()), ("PUT", "/p?q=1"));
        assert_eq!(request.header("authorization"), Some("Bearer hush"));
        assert_eq!(request.header("content-type"), content_type);
        assert_eq!(request.body, sent);
    }
}

#[tokio::test]
async fn a_signature_can_be_verified_by_its_receiver() {
    let (address, mut received) = receiver().await;
    let key = STANDARD.encode([9; 32]);
    let (outcome, _) = run(
        open(),
        json!({"http": {
            "url": format!("http://{address}/"),
            "body": "signed",
            "signing_secret": format!("whsec_{key}"),
        }}),
    )
    .await;
    succeeded(outcome);

    let request = received.recv().await.unwrap();
    assert_eq!(request.header("webhook-id"), Some("nightly-1700000000"));
    let at = request.header("webhook-timestamp").unwrap();
    let signature = request.header("webhook-signature").unwrap().strip_prefix("v1,").unwrap();
    hmac::verify(
        &hmac::Key::new(hmac::HMAC_SHA256, &[9; 32]),
        format!("nightly-1700000000.{at}.signed").as_bytes(),
        &STANDARD.decode(signature).unwrap(),
    )
    .unwrap();
}

#[tokio::test]
async fn an_answer_is_judged_by_status_and_body() {
    let address = serve(
        Router::new()
            .route(
                "/busy",
                post(async || (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "7")])),
            )
            .route("/ok", post(async || Json(json!({"state": "done"})))),
    )
    .await;
    let call = |path: &str, more: Value| {
        let mut http = json!({"url": format!("http://{address}{path}")});
        http.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run(open(), json!({ "http": http }))
    };

    let (message, output) = failed(call("/busy", json!({})).await.0);
    assert_eq!(message, format!("{address} answered 503 Service Unavailable, expected 200-299"));
    assert_eq!(output["headers"]["retry-after"], "7");
    succeeded(call("/busy", json!({"expected_status": [200, "500-503"]})).await.0);

    let output = succeeded(call("/ok", json!({"expected_body": "\"done\""})).await.0);
    assert_eq!(output["body"], json!({"state": "done"}));
    let (message, _) = failed(call("/ok", json!({"expected_body": "failed"})).await.0);
    assert_eq!(
        message,
        format!("{address} answered 200 OK, but its answer does not contain the expected text")
    );
}

#[tokio::test]
async fn a_closed_port_is_a_failure_to_connect() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (outcome, _) = run(open(), json!({"http": {"url": format!("http://{gone}/")}})).await;
    let (message, _) = failed(outcome);
    assert_eq!(message, format!("could not connect to {gone}: Connection refused (os error 111)"));
}

#[tokio::test]
async fn a_name_without_an_address_is_a_failure_to_resolve() {
    // The label is too long to be sent to a name server, so the test needs no network.
    let name = "x".repeat(64);
    let (outcome, _) = run(open(), json!({"http": {"url": format!("http://{name}/")}})).await;
    let (message, _) = failed(outcome);
    assert!(message.starts_with(&format!("could not resolve {name}:80: ")), "{message}");
}

#[tokio::test]
async fn nothing_secret_is_said_when_a_request_fails() {
    let address = serve(Router::new().route("/{*rest}", get(async || StatusCode::FORBIDDEN))).await;
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for address in [address, gone] {
        let (outcome, lines) = run(
            open(),
            json!({"http": {
                "url": format!("http://{address}/hush/path?token=hush"),
                "method": "GET",
                "headers": {"x-api-key": "hush"},
            }}),
        )
        .await;
        let said = format!("{:?} {lines:?}", failed(outcome));
        assert!(!said.contains("hush"), "{said}");
    }
}
