use std::process::Command;

use carillon::target::Policy;
use serde_json::{Value, json};

use crate::support::{Broker, Redis};

use super::{
    super::support::{executor, failed, open, succeeded, target},
    certificate::Certificate,
    faults::{
        assert_nothing_lost, attempt, is_found_again, is_waited_for_within_the_timeout, published,
        refused, through_a_restart,
    },
};

/// A server that keeps acknowledged data on its disk.
async fn durable() -> Broker {
    Broker::start(
        1,
        |folder, ports| {
            let mut command = Command::new("redis-server");
            command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"]);
            command.args(["--appendfsync", "always", "--port", &ports[0].to_string()]);
            command.arg("--dir").arg(folder);
            command
        },
        |_, ports| say(ports[0], &["PING"]).trim() == "PONG",
    )
    .await
}

fn say(port: u16, words: &[&str]) -> String {
    let mut command = Command::new("redis-cli");
    let output = command.args(["-p", &port.to_string()]).args(words).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn definition(server: &str, event: Value) -> Value {
    json!({ "publish": {
        "to": { "redis": { "connection": { "servers": [server] }, "stream": "orders" } },
        "event": event,
    } })
}

#[tokio::test]
async fn an_event_is_in_the_stream_under_the_id_that_the_attempt_shows() {
    let redis = durable().await;
    let event = json!({ "payload": { "a": 1 }, "headers": { "x-team": "blue" } });
    let output = published(definition(&redis.server(), event)).await;
    let entry = say(redis.port(), &["XRANGE", "orders", "-", "+"]);
    let lines: Vec<&str> = entry.lines().collect();
    assert_eq!(output["id"], lines[0]);
    assert_eq!((&output["broker"], &output["stream"]), (&json!("redis"), &json!("orders")));
    assert_eq!(lines[1..5], ["content-type", "application/cloudevents+json", "x-team", "blue"]);
    let event: Value = serde_json::from_str(lines[6]).unwrap();
    assert_eq!(event["id"], "nightly-1700000000");
    assert_eq!(event["data"]["payload"], json!({ "a": 1 }));
}

#[tokio::test]
async fn a_binary_event_has_its_attributes_as_fields() {
    let redis = durable().await;
    published(definition(&redis.server(), json!({ "mode": "binary" }))).await;
    let entry = say(redis.port(), &["XRANGE", "orders", "-", "+"]);
    let lines: Vec<&str> = entry.lines().collect();
    let value = |name| lines[lines.iter().position(|line| *line == name).unwrap() + 1];
    assert_eq!(value("ce_id"), "nightly-1700000000");
    assert_eq!(value("ce_specversion"), "1.0");
    assert_eq!(value("content-type"), "application/json");
    let data: Value = serde_json::from_str(value("event")).unwrap();
    assert_eq!(data["payload"], json!({ "customer": 42 }));
}

#[tokio::test]
async fn a_stream_is_kept_to_its_length() {
    let redis = durable().await;
    let mut definition = definition(&redis.server(), json!({}));
    definition["publish"]["to"]["redis"]["max_length"] = json!(1);
    let (executor, target) = (executor(open()), target(definition));
    let limit = std::time::Duration::from_secs(20);
    for number in 0..250 {
        succeeded(attempt(&executor, &target, "a-1", number, limit).await);
    }
    let length: u32 = say(redis.port(), &["XLEN", "orders"]).trim().parse().unwrap();
    assert!(length < 250, "{length}");
}

#[tokio::test]
async fn an_event_refused_by_redis_is_the_attempts_error() {
    let redis = durable().await;
    say(redis.port(), &["SET", "orders", "text"]);
    let message = refused(definition(&redis.server(), json!({}))).await;
    assert!(message.starts_with("WRONGTYPE "), "{message}");
}

#[tokio::test]
async fn a_password_is_asked_for_and_given() {
    let redis = Redis::with_password("sesame").await;
    let server = format!("127.0.0.1:{}", redis.port);
    let mut definition = definition(&server, json!({}));
    let message = refused(definition.clone()).await;
    assert!(message.starts_with(&format!("{server} refused the sign-in: NOAUTH")), "{message}");
    let connection = &mut definition["publish"]["to"]["redis"]["connection"];
    connection["password"] = json!("wrong");
    let message = refused(definition.clone()).await;
    assert!(message.starts_with(&format!("{server} refused the sign-in: WRONGPASS")), "{message}");
    definition["publish"]["to"]["redis"]["connection"]["password"] = json!("sesame");
    published(definition).await;
}

#[tokio::test]
async fn a_server_that_is_not_redis_is_reported() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, b"SSH-2.0-x\r\n").await;
        std::future::pending::<()>().await;
    });
    let message = refused(definition(&server, json!({}))).await;
    assert!(message.contains("does not speak Redis's protocol"), "{message}");
}

#[tokio::test]
async fn a_private_address_is_refused_when_saved_and_a_name_of_one_when_sent() {
    let closed = executor(Policy::default());
    let refused = closed.check(&target(definition("127.0.0.1:6379", json!({})))).unwrap_err();
    assert_eq!(refused.field(), Some("publish.to.redis.connection.servers[0]"));
    let by_name = target(definition("localhost:6379", json!({})));
    closed.check(&by_name).unwrap();
    let limit = std::time::Duration::from_secs(20);
    let outcome = attempt(&closed, &by_name, "a-1", 1, limit).await;
    let (message, _) = failed(outcome);
    let start =
        "refused to connect to localhost:6379: localhost leads to where requests may not go";
    assert!(message.starts_with(start), "{message}");
}

#[tokio::test]
async fn a_server_that_is_away_is_found_again() {
    let mut redis = durable().await;
    let definition = definition(&redis.server(), json!({}));
    is_found_again(&mut redis, definition).await;
}

#[tokio::test]
async fn a_server_that_hangs_is_waited_for_within_the_timeout() {
    let redis = durable().await;
    is_waited_for_within_the_timeout(&redis, definition(&redis.server(), json!({}))).await;
}

#[tokio::test]
async fn nothing_is_lost_when_the_server_is_killed_under_load() {
    let mut redis = durable().await;
    let definition = definition(&redis.server(), json!({}));
    let attempts = through_a_restart(&mut redis, definition).await;
    let stored = say(redis.port(), &["XRANGE", "orders", "-", "+"]);
    let event = |line: &str| serde_json::from_str::<Value>(line).ok();
    let id = |event: Value| Some(event.get("id")?.as_str()?.to_owned());
    let stored: Vec<String> = stored.lines().filter_map(event).filter_map(id).collect();
    assert_nothing_lost(&attempts, &stored);
}

#[tokio::test]
async fn a_certificate_is_trusted_only_by_its_authority() {
    let certificate = Certificate::new();
    let (_redis, port) = Redis::with_tls(&certificate.pem(), &certificate.key()).await;
    let mut definition = definition(&format!("localhost:{port}"), json!({}));
    definition["publish"]["to"]["redis"]["connection"]["tls"] = json!(true);
    let output = certificate.is_trusted_only_by_its_authority(definition).await;
    assert_eq!(output["stream"], "orders");
}
