//! Signed requests, verified as a receiver would verify them: with the specification's own library.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use carillon::{
    clock::{Clock, ManualClock},
    target::Executor,
};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::support::{invocation, open, receiver, target};

const HEADERS: [&str; 3] = ["webhook-id", "webhook-timestamp", "webhook-signature"];

/// The headers and the body of a request that was signed at that time.
async fn signed(secret: &str, at: DateTime<Utc>) -> (Map<String, Value>, String) {
    let (address, mut received) = receiver().await;
    let url = format!("http://{address}/");
    let definition =
        json!({ "http": { "url": url, "body": { "rows": 7 }, "signing_secret": secret } });
    let executor = Executor::new(open(), ManualClock::new(at).clock()).unwrap();
    let (lines, _lines) = mpsc::channel(100);
    executor.execute(&target(definition), &invocation(), lines, CancellationToken::new()).await;
    let request = received.recv().await.unwrap();
    let header = |name: &str| (name.to_owned(), json!(request.header(name).unwrap()));
    let body = String::from_utf8(request.body.to_vec()).unwrap();
    (HEADERS.map(header).into_iter().collect(), body)
}

/// The result of the verification by a receiver.
fn verified(secret: &str, headers: &Map<String, Value>, body: &str) -> Result<Value, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../e2e/support/verify.mjs");
    let mut node = Command::new("node");
    node.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut node = node.spawn().expect("node, which runs the receiver");
    let input = json!({ "secret": secret, "headers": headers, "body": body }).to_string();
    node.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8(output.stderr).unwrap());
    }
    Ok(serde_json::from_slice(&output.stdout).unwrap())
}

#[tokio::test]
async fn a_request_that_was_forged_or_is_sent_again_later_is_known_by_its_receiver() {
    let secret = format!("whsec_{}", STANDARD.encode([9; 32]));
    let now = Clock::system().now();
    let (headers, body) = signed(&secret, now).await;
    assert_eq!(verified(&secret, &headers, &body).unwrap(), json!({ "rows": 7 }));
    // The signature also covers the id, so a receiver can remember ids and refuse a repeated
    // request.
    assert_eq!(headers["webhook-id"], invocation().idempotency_key);

    let no_match = "No matching signature";
    assert!(verified(&secret, &headers, &body.replace('7', "8")).unwrap_err().contains(no_match));
    for (name, value) in [
        ("webhook-id", "another-1700000000".to_owned()),
        ("webhook-timestamp", (now.timestamp() + 1).to_string()),
        ("webhook-signature", format!("v1,{}", STANDARD.encode([0; 32]))),
    ] {
        let mut forged = headers.clone();
        forged.insert(name.to_owned(), value.into());
        let refused = verified(&secret, &forged, &body).unwrap_err();
        assert!(refused.contains(no_match), "{name}: {refused}");
    }
    let other = format!("whsec_{}", STANDARD.encode([8; 32]));
    assert!(verified(&other, &headers, &body).unwrap_err().contains(no_match));

    // An attacker has recorded a request, and sends it again some minutes later.
    let (headers, body) = signed(&secret, now - TimeDelta::minutes(10)).await;
    let refused = verified(&secret, &headers, &body).unwrap_err();
    assert!(refused.contains("timestamp too old"), "{refused}");
}
