use std::{fs, process::Command, time::Duration};

use serde_json::{Value, json};

use crate::support::{Broker, tool};

use super::{
    super::support::{executor, failed, open, succeeded, target},
    certificate::Certificate,
    faults::{
        assert_nothing_lost, attempt, is_found_again, is_waited_for_within_the_timeout, published,
        refused, through_a_restart,
    },
};

/// Starts the daemon through which Erlang nodes find one another, and then the server. If the
/// server started the daemon itself, the daemon would outlive it.
const START: &str = "epmd -port $ERL_EPMD_PORT -address 127.0.0.1 & \
                     exec \"$(ls -d /usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin)/rabbitmq-server\"";

/// The definitions that the server has from the start.
const DEFINITIONS: &str = r#"{
    "vhosts": [{ "name": "/" }],
    "users": [
        { "name": "guest", "password": "guest", "tags": "administrator" },
        { "name": "reader", "password": "sesame", "tags": "" }
    ],
    "permissions": [
        { "user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*" },
        { "user": "reader", "vhost": "/", "configure": "", "write": "", "read": ".*" }
    ],
    "exchanges": [{
        "name": "shop", "vhost": "/", "type": "topic", "durable": true, "auto_delete": false,
        "arguments": {}
    }],
    "queues": [{
        "name": "orders", "vhost": "/", "durable": true, "auto_delete": false, "arguments": {}
    }, {
        "name": "full", "vhost": "/", "durable": true, "auto_delete": false,
        "arguments": { "x-max-length": 0, "x-overflow": "reject-publish" }
    }],
    "bindings": [{
        "source": "shop", "vhost": "/", "destination": "orders", "destination_type": "queue",
        "routing_key": "order.*", "arguments": {}
    }]
}"#;

/// The port that speaks TLS, of the server's ports.
const TLS: usize = 3;

/// A server with the queue `orders`, to which the exchange `shop` routes `order.*`, and with this
/// certificate.
async fn server(certificate: &Certificate) -> Broker {
    let (pem, key) = (certificate.pem(), certificate.key());
    Broker::start(
        4,
        move |folder, ports| {
            fs::write(folder.join("definitions.json"), DEFINITIONS).unwrap();
            let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
            let [listen, epmd, dist, tls] = ports else { panic!("four ports") };
            let config = format!(
                "listeners.tcp.1 = 127.0.0.1:{listen}\nload_definitions = {}\n\
                 listeners.ssl.1 = 127.0.0.1:{tls}\nssl_options.cacertfile = {pem}\n\
                 ssl_options.certfile = {pem}\nssl_options.keyfile = {}\n\
                 ssl_options.verify = verify_none\nssl_options.fail_if_no_peer_cert = false\n",
                path("definitions.json"),
                key.display(),
                pem = pem.display(),
            );
            fs::write(folder.join("rabbitmq.conf"), config).unwrap();
            fs::write(folder.join("plugins"), "[].\n").unwrap();
            let mut command = Command::new("sh");
            command.args(["-c", START]);
            for (name, value) in [
                ("ERL_EPMD_PORT", epmd.to_string()),
                ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
                ("RABBITMQ_NODENAME", format!("carillon-{listen}@localhost")),
                ("RABBITMQ_DIST_PORT", dist.to_string()),
                ("RABBITMQ_CONFIG_FILE", path("rabbitmq")),
                ("RABBITMQ_MNESIA_BASE", path("data")),
                ("RABBITMQ_LOG_BASE", path("log")),
                ("RABBITMQ_ENABLED_PLUGINS_FILE", path("plugins")),
                ("RABBITMQ_PID_FILE", path("pid")),
                ("RABBITMQ_LOGS", "-".to_owned()),
                ("HOME", folder.to_str().unwrap().to_owned()),
            ] {
                command.env(name, value);
            }
            command
        },
        |folder, _| {
            let output = fs::read_to_string(folder.join("output")).unwrap_or_default();
            output.contains("Server startup complete")
        },
    )
    .await
}

/// A script with a third-party client that takes all messages from a queue.
const GET: &str = r#"
import json, sys, pika
connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", int(sys.argv[1])))
channel = connection.channel()
while True:
    method, properties, body = channel.basic_get("orders", auto_ack=True)
    if method is None:
        break
    print(json.dumps({
        "id": properties.message_id, "type": properties.content_type, "headers": properties.headers,
        "mode": properties.delivery_mode, "key": method.routing_key, "body": json.loads(body),
    }))
"#;

fn messages(rabbitmq: &Broker) -> Vec<Value> {
    let port = rabbitmq.port().to_string();
    let output = Command::new(tool("python3")).args(["-c", GET, &port]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn definition(server: &str, event: Value) -> Value {
    json!({ "publish": {
        "to": { "rabbitmq": {
            "connection": { "servers": [server] }, "exchange": "shop", "routing_key": "order.new",
        } },
        "event": event,
    } })
}

// A server takes seconds to start, so tests without faults share one.
#[tokio::test]
async fn events_are_in_the_queue_and_a_refused_one_is_the_attempts_error() {
    let certificate = Certificate::new();
    let rabbitmq = server(&certificate).await;
    let structured = json!({ "headers": { "x-team": "blue" } });
    let output = published(definition(&rabbitmq.server(), structured)).await;
    assert_eq!(
        (&output["exchange"], &output["routing_key"]),
        (&json!("shop"), &json!("order.new"))
    );
    let large = "ä".repeat(100_000);
    let binary = json!({ "mode": "binary", "payload": large });
    published(definition(&rabbitmq.server(), binary)).await;
    let stored = messages(&rabbitmq);
    assert_eq!(stored.len(), 2);
    let [one, two] = &stored[..] else { panic!("two messages") };
    assert_eq!((&one["id"], &one["mode"]), (&json!("nightly-1700000000"), &json!(2)));
    assert_eq!(one["type"], "application/cloudevents+json");
    assert_eq!(one["headers"]["x-team"], "blue");
    assert_eq!(one["body"]["id"], "nightly-1700000000");
    assert_eq!(two["headers"]["cloudEvents:id"], "nightly-1700000000");
    assert_eq!(
        (&two["type"], &two["body"]["payload"]),
        (&json!("application/json"), &json!(large))
    );

    let with = |field: &str, value: Value| {
        let mut definition = definition(&rabbitmq.server(), json!({}));
        definition["publish"]["to"]["rabbitmq"][field] = value;
        definition
    };
    let encrypted =
        json!({ "servers": [format!("localhost:{}", rabbitmq.ports()[TLS])], "tls": true });
    certificate.is_trusted_only_by_its_authority(with("connection", encrypted)).await;
    assert_eq!(messages(&rabbitmq).len(), 1, "the refused attempts sent nothing");
    let unrouted = refused(with("routing_key", json!("elsewhere"))).await;
    assert_eq!(unrouted, "no queue accepts the event: NO_ROUTE (312)");
    let unknown = refused(with("exchange", json!("other"))).await;
    assert!(unknown.starts_with("NOT_FOUND - no exchange 'other' in vhost '/'"), "{unknown}");
    let place = rabbitmq.server();
    let elsewhere = refused(with("vhost", json!("other"))).await;
    let start = format!("{place} refused the sign-in: NOT_ALLOWED - vhost other not found");
    assert!(elsewhere.starts_with(&start), "{elsewhere}");
    let connection =
        |password: &str| json!({ "servers": [place], "username": "reader", "password": password });
    let wrong = refused(with("connection", connection("wrong"))).await;
    assert!(wrong.starts_with(&format!("{place} refused the sign-in: ACCESS_REFUSED")), "{wrong}");
    let may_not = refused(with("connection", connection("sesame"))).await;
    assert!(may_not.starts_with("ACCESS_REFUSED"), "{may_not}");
    let mut full = with("routing_key", json!("full"));
    full["publish"]["to"]["rabbitmq"]["exchange"] = json!("");
    assert_eq!(refused(full).await, "the broker could not take the event (basic.nack)");

    // An exchange that does not exist does not affect events for other exchanges.
    let executor = executor(open());
    let (good, bad) = (with("routing_key", json!("order.a")), with("exchange", json!("other")));
    let (good, bad) = (target(good), target(bad));
    let limit = Duration::from_secs(20);
    let ids: Vec<String> = (0..20).map(|number| format!("event-{number}")).collect();
    let all = ids.iter().map(|id| async {
        tokio::join!(
            attempt(&executor, &good, id, 1, limit),
            attempt(&executor, &bad, id, 1, limit),
        )
    });
    for (good, bad) in futures::future::join_all(all).await {
        succeeded(good);
        failed(bad);
    }
    let counts = executor.broker_counts();
    assert_eq!(counts.iter().map(|counts| counts.connected).sum::<u64>(), 1, "{counts:?}");

    is_waited_for_within_the_timeout(&rabbitmq, definition(&rabbitmq.server(), json!({}))).await;
}

#[tokio::test]
async fn nothing_is_lost_when_the_server_is_away_or_killed_under_load() {
    let certificate = Certificate::new();
    let mut rabbitmq = server(&certificate).await;
    let definition = definition(&rabbitmq.server(), json!({}));
    is_found_again(&mut rabbitmq, definition.clone()).await;
    messages(&rabbitmq);
    let attempts = through_a_restart(&mut rabbitmq, definition).await;
    let id = |message: &Value| message["id"].as_str().unwrap().to_owned();
    assert_nothing_lost(&attempts, &messages(&rabbitmq).iter().map(id).collect::<Vec<_>>());
}
