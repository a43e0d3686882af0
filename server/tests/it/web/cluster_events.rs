//! A follower of nodes whose socket is closed several times: it misses no event and gets none
//! twice.

use std::{collections::HashSet, time::Duration};

use carillon::store::{Cursor, nodes::JoiningNode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Command, Server, Socket, TestDatabase, on_both};

on_both!(a_follower_of_nodes_misses_nothing_when_the_socket_drops);

/// The follower, with the events received so far.
struct Follower<'a> {
    server: &'a Server,
    token: String,
    since: String,
    seen: HashSet<String>,
    socket: Option<Socket>,
}

impl Follower<'_> {
    /// Opens a new socket, which continues where the last one ended.
    async fn connect(&mut self) {
        let mut socket = Socket::open(Socket::request(self.server, "/graphql/ws")).await;
        let answer = socket.init(json!({ "token": self.token })).await.unwrap();
        assert_eq!(answer["type"], "connection_ack");
        let query = "subscription($since: String) { clusterEvents(since: $since) {
            cursor node { name state firstShards leases { name } } } }";
        let payload = json!({ "query": query, "variables": { "since": self.since } });
        socket.send(json!({ "id": "1", "type": "subscribe", "payload": payload })).await;
        self.socket = Some(socket);
    }

    /// Reads until a node of that name matches; returns the node.
    async fn until(&mut self, name: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let socket = self.socket.as_mut().unwrap();
        let search = async {
            loop {
                let message = socket.next().await.unwrap();
                assert_eq!(message["type"], "next", "{message}");
                let event = &message["payload"]["data"]["clusterEvents"];
                let cursor = event["cursor"].as_str().unwrap();
                assert!(self.seen.insert(cursor.to_owned()), "seen twice: {message}");
                cursor.clone_into(&mut self.since);
                let node = &event["node"];
                if node["name"] == name && is_it(node) {
                    return node.clone();
                }
            }
        };
        let found = tokio::time::timeout(Duration::from_secs(60), search).await;
        found.unwrap_or_else(|_| panic!("heard nothing of {name}"))
    }
}

async fn a_follower_of_nodes_misses_nothing_when_the_socket_drops(database: TestDatabase) {
    let token = Command::new(&["token", "create", "ci", "--role", "viewer"]).on(&database);
    let token = token.run().done().trim().to_owned();
    let server = Server::start_with(&database, &["--node-name", "alpha"]);
    let since = Cursor::START.to_string();
    let (seen, socket) = (HashSet::new(), None);
    let mut follower = Follower { server: &server, token, since, seen, socket };
    let store = &database.store;
    let join = async |name: &str| {
        let (id, roles) = (Uuid::now_v7(), vec!["scheduler".to_owned()]);
        let joining = JoiningNode { id, name: name.to_owned(), roles, ..JoiningNode::default() };
        store.join(&joining).await.unwrap();
        id
    };

    follower.connect().await;
    let alpha = follower.until("alpha", |node| node["state"] == "ALIVE").await;
    assert_eq!(alpha["firstShards"], 256, "{alpha}");
    let beta = join("beta").await;
    let joined = follower.until("beta", |_| true).await;
    assert_eq!(joined["state"], "ALIVE");
    assert!(joined["firstShards"].as_i64().unwrap() > 50, "{joined}");

    // A client that reconnects gets the nodes that changed in the meantime, in their current state.
    drop(follower.socket.take());
    store.drain(beta).await.unwrap();
    let gamma = join("gamma").await;
    let held = store.hold_lease_if_free("bells", gamma, Duration::from_secs(60)).await.unwrap();
    assert!(matches!(held, carillon::store::leases::LeaseState::Held(1)), "{held:?}");
    follower.connect().await;
    let drained = follower.until("beta", |_| true).await;
    assert_eq!((&drained["state"], &drained["firstShards"]), (&json!("DRAINING"), &json!(0)));
    let gamma_now = follower.until("gamma", |_| true).await;
    assert_eq!(gamma_now["leases"], json!([{ "name": "bells" }]));

    // If a lease moves to another node, both nodes change.
    let delta = join("delta").await;
    store.leave(beta).await.unwrap();
    assert_eq!(follower.until("beta", |_| true).await["state"], "LEFT");
    store.drain(gamma).await.unwrap();
    store.hold_lease_if_free("bells", delta, Duration::from_secs(60)).await.unwrap();
    let now = follower.until("delta", |node| node["leases"] != json!([])).await;
    assert_eq!(now["leases"], json!([{ "name": "bells" }]));
}
