//! Brokers that the built server cannot reach, in its health and in its metrics.

use std::time::Duration;

use serde_json::{Value, json};

use super::workers::Desk;
use crate::support::{Command, Server, TestDatabase, free_port};

#[tokio::test]
async fn brokers_that_are_away_are_in_the_health_and_the_metrics() {
    let database = TestDatabase::sqlite().await;
    let create = ["token", "create", "desk", "--role", "admin"];
    let token = Command::new(&create).on(&database).run().done().trim().to_owned();
    let server = Server::start_configured(&database, "egress.private_addresses = true");
    let desk = Desk { server, token };
    let place = format!("127.0.0.1:{}", free_port());
    let redis = json!({ "redis": { "connection": { "servers": [place] }, "stream": "orders" } });
    let sqs = json!({ "sqs": {
        "queueUrl": format!("http://{place}/1/orders"), "region": "eu-central-1",
        "accessKeyId": "test", "secretAccessKey": "{{ secrets.sqs }}",
    } });
    let set =
        "mutation { setSecret(input: { name: \"sqs\", value: \"sesame\" }) { secret { name } } }";
    desk.graphql(set, json!({})).await;
    for (name, to) in [("to-redis", redis), ("to-sqs", sqs)] {
        let run = desk.run(name, json!({ "target": { "publish": { "to": to } } })).await;
        let ended = desk.ended(&run).await;
        assert_eq!(ended["state"], "FAILED", "{ended}");
    }

    let look = async {
        loop {
            let health = desk.server.get("/healthz").bearer_auth(&desk.token);
            let health: Value = health.send().await.unwrap().json().await.unwrap();
            if health["checks"]["brokers"]["value"] == "0 of 2" {
                return health;
            }
        }
    };
    let health = tokio::time::timeout(Duration::from_secs(60), look).await.unwrap();
    assert_eq!(health["checks"]["brokers"]["healthy"], true, "{health}");
    let issues = health["issues"].to_string();
    assert!(issues.contains("2 of 2 brokers could not be reached, among them "), "{issues}");
    assert!(issues.contains(&place), "{issues}");

    let metrics = desk.server.get("/metrics").send().await.unwrap().text().await.unwrap();
    let figure = |name: &str, labels: &[&str]| {
        let is_it = |line: &&str| {
            line.starts_with(&format!("{name}{{"))
                && labels.iter().all(|label| line.contains(label))
        };
        let line = metrics.lines().find(is_it).unwrap_or_else(|| panic!("{name} {labels:?}"));
        line.rsplit(' ').next().unwrap().to_owned()
    };
    for label in ["broker=\"redis\"", "broker=\"sqs\""] {
        assert_eq!(figure("carillon_published_total", &[label, "outcome=\"failed\""]), "1");
        assert_eq!(figure("carillon_brokers_unreachable", &[label]), "1");
        assert_eq!(figure("carillon_broker_connections", &[label]), "0");
    }
}
