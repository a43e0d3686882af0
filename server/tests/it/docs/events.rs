//! The program in docs/how-to/follow-events.md: its subscription, from a cursor to the next.

use carillon::store::reads::fire_feed::FirePosition;
use serde_json::{Value, json};

use crate::{
    settings::repository,
    support::{Command, Server, Socket, TestDatabase},
};

const PAGE: &str = "docs/how-to/follow-events.md";

/// The subscription that the program sends.
fn subscription(page: &str) -> &str {
    let (_, rest) = page.split_once("const query = `").expect("the program has a query");
    rest.split_once("`;").expect("the query ends").0
}

/// The next event after a cursor.
async fn next(server: &Server, token: &str, query: &str, since: &str) -> Value {
    let mut socket = Socket::open(Socket::request(server, "/graphql")).await;
    let answer = socket.init(json!({ "token": token })).await.unwrap();
    assert_eq!(answer["type"], "connection_ack");
    let payload = json!({ "query": query, "variables": { "since": since } });
    socket.send(json!({ "id": "1", "type": "subscribe", "payload": payload })).await;
    let mut message = socket.next().await.unwrap();
    assert_eq!(message["type"], "next", "{message}");
    assert_eq!(message["payload"]["errors"], Value::Null, "{message}");
    message["payload"]["data"]["fireEvents"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_follows_fires_from_its_last_cursor() {
    let page = repository(PAGE);
    let query = subscription(&page);
    let database = TestDatabase::sqlite().await;
    let token = Command::new(&["token", "create", "follower", "--role", "admin"]).on(&database);
    let token = token.run().done().trim().to_owned();
    let server = Server::start(&database);
    let run = |args: &[&str]| {
        let command = Command::new(args);
        command.env("CARILLON_SERVER", &server.url).env("CARILLON_TOKEN", &token).run().done()
    };
    let nightly = json!({
        "name": "nightly", "timing": { "expressions": ["0 2 * * *"] },
        "task": { "target": { "noop": {} } },
    });
    run(&["create", &nightly.to_string()]);
    let skip = ["skip-next", "nightly", "--reason", "x"];
    run(&skip);
    let start = FirePosition::START.to_string();
    let first = next(&server, &token, query, &start).await;
    assert_eq!(first["fire"]["verdict"], "SKIPPED", "{first}");
    assert_eq!(first["fire"]["schedule"]["name"], "nightly", "{first}");
    run(&skip);
    let second = next(&server, &token, query, first["cursor"].as_str().unwrap()).await;
    assert_ne!(second["fire"]["scheduledAt"], first["fire"]["scheduledAt"], "{second}");
}

#[test]
fn the_page_lists_every_subscription() {
    let schema = repository("server/schema.graphql");
    let (_, rest) = schema.split_once("\ntype Subscription {\n").unwrap();
    let (fields, _) = rest.split_once("\n}\n").unwrap();
    let page = repository(PAGE);
    let mut listed = 0;
    for line in fields.lines() {
        // A field is indented by two blanks, its arguments by four.
        let Some(field) = line.strip_prefix("  ").and_then(|line| line.strip_suffix('(')) else {
            continue;
        };
        assert!(page.contains(&format!("| `{field}` | ")), "{PAGE} lacks {field}");
        listed += 1;
    }
    assert!(listed >= 9, "{listed} subscriptions: they are read wrongly");
}
