use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{Broker, tool};

use super::{
    certificate::Certificate,
    faults::{
        assert_nothing_lost, is_found_again, is_waited_for_within_the_timeout, published, refused,
        through_a_restart,
    },
};

/// A server with JetStream on its disk, and in it the stream `ORDERS` on `orders.>`.
async fn server(args: &'static [&'static str]) -> Broker {
    let start = move |folder: &Path, ports: &[u16]| {
        let mut command = program(folder, ports);
        command.args(args);
        command
    };
    let nats = Broker::start(1, start, |_, _| true).await;
    if args.is_empty() {
        create_stream(nats.port());
    }
    nats
}

fn program(folder: &Path, ports: &[u16]) -> Command {
    let mut command = Command::new(tool("nats-server"));
    command.args(["-a", "127.0.0.1", "-p", &ports[0].to_string(), "--jetstream"]);
    command.arg("--store_dir").arg(folder);
    command
}

/// Creates the stream. Each message is on the disk before it is acknowledged.
fn create_stream(port: u16) {
    let stream = json!({ "name": "ORDERS", "subjects": ["orders.>"], "storage": "file" });
    let made = ask(port, "$JS.API.STREAM.CREATE.ORDERS", &stream);
    assert_eq!(made["config"]["name"], "ORDERS", "{made}");
}

/// The answer of one of the server's services.
fn ask(port: u16, subject: &str, asked: &Value) -> Value {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let asked = asked.to_string();
    let text = format!(
        "CONNECT {{\"verbose\":false}}\r\nSUB answer 1\r\nPUB {subject} answer {}\r\n{asked}\r\n",
        asked.len()
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        if line.starts_with("MSG answer") {
            let mut answer = vec![0; line.split_whitespace().last().unwrap().parse().unwrap()];
            stream.read_exact(&mut answer).unwrap();
            return serde_json::from_slice(&answer).unwrap();
        }
        assert!(!line.is_empty() && !line.starts_with("-ERR"), "{line}");
    }
}

/// The headers and the body of a message.
fn stored(port: u16, sequence: u64) -> (String, Value) {
    let answer = ask(port, "$JS.API.STREAM.MSG.GET.ORDERS", &json!({ "seq": sequence }));
    let text = |field: &str| {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let bytes = STANDARD.decode(answer["message"][field].as_str().unwrap()).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    (text("hdrs"), serde_json::from_str(&text("data")).unwrap())
}

fn definition(server: &str, event: Value) -> Value {
    json!({ "publish": {
        "to": { "nats": { "connection": { "servers": [server] }, "subject": "orders.new" } },
        "event": event,
    } })
}

#[tokio::test]
async fn an_event_is_in_the_stream_once_however_often_it_is_published() {
    let nats = server(&[]).await;
    let definition = definition(&nats.server(), json!({ "headers": { "x-team": "blue" } }));
    let output = published(definition.clone()).await;
    assert_eq!((&output["stream"], &output["sequence"]), (&json!("ORDERS"), &json!(1)));
    assert_eq!(output["duplicate"], false);
    let (headers, event) = stored(nats.port(), 1);
    assert!(headers.contains("Nats-Msg-Id: nightly-1700000000\r\n"), "{headers}");
    assert!(headers.contains("content-type: application/cloudevents+json\r\n"), "{headers}");
    assert!(headers.contains("x-team: blue\r\n"), "{headers}");
    assert_eq!(event["id"], "nightly-1700000000");
    let again = published(definition).await;
    assert_eq!((&again["sequence"], &again["duplicate"]), (&json!(1), &json!(true)));
}

#[tokio::test]
async fn a_binary_event_has_its_attributes_as_headers() {
    let nats = server(&[]).await;
    published(definition(&nats.server(), json!({ "mode": "binary", "type": "a.b" }))).await;
    let (headers, data) = stored(nats.port(), 1);
    for header in ["ce-id: nightly-1700000000", "ce-specversion: 1.0", "ce-type: a.b"] {
        assert!(headers.contains(&format!("{header}\r\n")), "{headers}");
    }
    assert_eq!(data["payload"], json!({ "customer": 42 }));
}

#[tokio::test]
async fn an_event_without_a_stream_is_the_attempts_error() {
    let nats = server(&[]).await;
    let mut elsewhere = definition(&nats.server(), json!({}));
    elsewhere["publish"]["to"]["nats"]["subject"] = json!("elsewhere");
    assert_eq!(refused(elsewhere).await, "no stream listens to the subject elsewhere");
    let mut other = definition(&nats.server(), json!({}));
    other["publish"]["to"]["nats"]["stream"] = json!("OTHER");
    let message = refused(other).await;
    assert!(message.contains("expected stream does not match"), "{message}");
    let large = ask(
        nats.port(),
        "$JS.API.STREAM.UPDATE.ORDERS",
        &json!({
            "name": "ORDERS", "subjects": ["orders.>"], "storage": "file", "max_msg_size": 100,
        }),
    );
    assert_eq!(large["config"]["max_msg_size"], 100, "{large}");
    let message = refused(definition(&nats.server(), json!({}))).await;
    assert!(message.contains("message size exceeds maximum"), "{message}");
}

#[tokio::test]
async fn an_event_that_is_larger_than_the_server_accepts_is_the_attempts_error() {
    let start = |folder: &Path, ports: &[u16]| {
        let config = folder.join("limits.conf");
        std::fs::write(&config, "max_payload: 2000\n").unwrap();
        let mut command = program(folder, ports);
        command.arg("-c").arg(config);
        command
    };
    let nats = Broker::start(1, start, |_, _| true).await;
    create_stream(nats.port());
    published(definition(&nats.server(), json!({}))).await;
    let message =
        refused(definition(&nats.server(), json!({ "payload": "x".repeat(2_000) }))).await;
    assert!(message.ends_with("bytes with its headers; the server accepts 2000"), "{message}");
    assert_eq!(ask(nats.port(), "$JS.API.STREAM.INFO.ORDERS", &json!({}))["state"]["messages"], 1);
}

#[tokio::test]
async fn a_wrong_password_is_the_attempts_error() {
    let nats = server(&["--user", "carillon", "--pass", "sesame"]).await;
    let place = nats.server();
    let message = refused(definition(&place, json!({}))).await;
    assert!(
        message.starts_with(&format!("{place} refused the sign-in: -ERR 'Authoriz")),
        "{message}"
    );
    let mut with_name = definition(&place, json!({}));
    let connection = &mut with_name["publish"]["to"]["nats"]["connection"];
    connection["username"] = json!("carillon");
    connection["password"] = json!("sesame");
    // The server accepts the client, but has no stream for the subject.
    assert_eq!(refused(with_name).await, "no stream listens to the subject orders.new");
}

#[tokio::test]
async fn a_certificate_is_trusted_only_by_its_authority() {
    let certificate = Certificate::new();
    let (pem, key) = (certificate.pem(), certificate.key());
    let is_encrypted = Arc::new(AtomicBool::new(false));
    let encrypts = is_encrypted.clone();
    let start = move |folder: &Path, ports: &[u16]| {
        let mut command = program(folder, ports);
        if encrypts.load(Ordering::SeqCst) {
            command.arg("--tls").arg("--tlscert").arg(&pem).arg("--tlskey").arg(&key);
        }
        command
    };
    let mut nats = Broker::start(1, start, |_, _| true).await;
    // The test's own requests are not encrypted, so the stream is there before.
    create_stream(nats.port());
    nats.kill();
    is_encrypted.store(true, Ordering::SeqCst);
    nats.go_on().await;
    let place = format!("localhost:{}", nats.port());
    let mut definition = definition(&place, json!({}));
    let message = refused(definition.clone()).await;
    let expected = format!("{place} refused the sign-in: it asks for TLS; set `tls: true`");
    assert_eq!(message, expected);
    definition["publish"]["to"]["nats"]["connection"]["tls"] = json!(true);
    let output = certificate.is_trusted_only_by_its_authority(definition).await;
    assert_eq!((&output["stream"], &output["sequence"]), (&json!("ORDERS"), &json!(1)));
}

#[tokio::test]
async fn a_server_that_is_away_is_found_again() {
    let mut nats = server(&[]).await;
    let definition = definition(&nats.server(), json!({}));
    is_found_again(&mut nats, definition).await;
}

#[tokio::test]
async fn a_server_that_hangs_is_waited_for_within_the_timeout() {
    let nats = server(&[]).await;
    is_waited_for_within_the_timeout(&nats, definition(&nats.server(), json!({}))).await;
}

#[tokio::test]
async fn nothing_is_lost_when_the_server_is_killed_under_load() {
    let mut nats = server(&[]).await;
    let definition = definition(&nats.server(), json!({}));
    let attempts = through_a_restart(&mut nats, definition).await;
    let info = ask(nats.port(), "$JS.API.STREAM.INFO.ORDERS", &json!({}));
    let last = info["state"]["last_seq"].as_u64().unwrap();
    let id = |sequence| stored(nats.port(), sequence).1["id"].as_str().unwrap().to_owned();
    assert_nothing_lost(&attempts, &(1..=last).map(id).collect::<Vec<_>>());
}
