//! A change of a user's rights applies as soon as it is answered, whatever servers have cached.

use std::cell::Cell;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Command, Server, TestDatabase, on_both};

on_both!(what_a_token_may_is_what_the_last_answer_said);

/// An administrator who calls one server, and a program that calls another.
struct Pair {
    here: Server,
    /// The other server; `None` on SQLite, where only one server may use the file.
    there: Option<Server>,
    root: String,
    robot: String,
}

impl Pair {
    /// Sends a mutation of the administrator, while the program sends requests without a pause.
    async fn order(&self, order: &str, variables: Value) -> Value {
        let answer = self.during(ask(&self.here, &self.root, order, variables)).await.1;
        assert!(answer["errors"].is_null(), "{answer}");
        answer["data"].clone()
    }

    /// Runs a command on the server's machine, while the program sends requests without a pause.
    async fn shell(&self, database: &TestDatabase, args: &'static [&'static str]) {
        let command = Command::new(args).on(database);
        self.during(tokio::task::spawn_blocking(|| command.run().done())).await.unwrap();
    }

    async fn during<T>(&self, order: impl Future<Output = T>) -> T {
        let is_done = Cell::new(false);
        let ordered = async {
            let answer = order.await;
            is_done.set(true);
            answer
        };
        let asked = async {
            while !is_done.get() {
                self.me().await;
            }
        };
        tokio::join!(ordered, asked).0
    }

    /// The viewer whom the server sees in the program; `None` if the program is refused.
    async fn me(&self) -> Option<Value> {
        let server = self.there.as_ref().unwrap_or(&self.here);
        let query = "{ me { roleEverywhere grants { role } } }";
        let (status, answer) = ask(server, &self.robot, query, json!({})).await;
        (status != StatusCode::UNAUTHORIZED).then(|| answer["data"]["me"].clone())
    }
}

async fn ask(server: &Server, token: &str, query: &str, variables: Value) -> (StatusCode, Value) {
    let body = json!({ "query": query, "variables": variables });
    let answer = server.post("/graphql").bearer_auth(token).json(&body).send().await.unwrap();
    (answer.status(), answer.json().await.unwrap())
}

async fn what_a_token_may_is_what_the_last_answer_said(database: TestDatabase) {
    let create = ["token", "create", "root", "--role", "admin"];
    let root = Command::new(&create).on(&database).run().done().trim().to_owned();
    let here = Server::start(&database);
    let there = database.url.starts_with("postgres").then(|| Server::start(&database));
    let made = "mutation { createServiceAccount(input: { name: \"robot\" }) { user { id } } }";
    let user = ask(&here, &root, made, json!({})).await.1;
    let user = json!({ "id": user["data"]["createServiceAccount"]["user"]["id"] });
    let token = token(&here, &root, "ci").await;
    let robot = token["secret"].as_str().unwrap().to_owned();
    let mut pair = Pair { here, there, root, robot };

    let everywhere = |role: &str| Some(json!({ "roleEverywhere": role, "grants": [] }));
    let nothing = Some(json!({ "roleEverywhere": null, "grants": [] }));
    assert_eq!(pair.me().await, nothing);
    let join = "mutation {
        setMembership(input: { user: \"robot\", namespace: \"default\", role: EDITOR }) {
            membership { role }
        }
    }";
    pair.order(join, json!({})).await;
    let member = json!({ "roleEverywhere": null, "grants": [{ "role": "EDITOR" }] });
    assert_eq!(pair.me().await, Some(member));
    let leave = "mutation { removeMembership(user: \"robot\", namespace: \"default\") { userId } }";
    pair.order(leave, json!({})).await;
    assert_eq!(pair.me().await, nothing);
    let set = "mutation ($id: UUID!, $role: Role) {
        setUserRole(userId: $id, role: $role) { user { id } }
    }";
    for role in ["ADMIN", "VIEWER"] {
        pair.order(set, json!({ "id": user["id"], "role": role })).await;
        assert_eq!(pair.me().await, everywhere(role));
    }
    let disable = "mutation ($id: UUID!) { disableUser(userId: $id) { user { id } } }";
    pair.order(disable, user.clone()).await;
    assert_eq!(pair.me().await, None);
    let enable = "mutation ($id: UUID!) { enableUser(userId: $id) { user { id } } }";
    pair.order(enable, user.clone()).await;
    assert_eq!(pair.me().await, everywhere("VIEWER"));
    pair.shell(&database, &["user", "disable", "robot"]).await;
    assert_eq!(pair.me().await, None);
    pair.shell(&database, &["user", "enable", "robot"]).await;
    assert_eq!(pair.me().await, everywhere("VIEWER"));

    let revoke = "mutation ($id: UUID!, $key: String) {
        revokeApiToken(id: $id, idempotencyKey: $key) { id }
    }";
    let revoked = json!({ "id": token["apiToken"]["id"], "key": "k1" });
    pair.order(revoke, revoked.clone()).await;
    assert_eq!(pair.me().await, None);
    assert_eq!(pair.order(revoke, revoked).await["revokeApiToken"]["id"], token["apiToken"]["id"]);
    pair.robot = other_token(&pair, "spare").await;
    assert_eq!(pair.me().await, everywhere("VIEWER"));
    pair.shell(&database, &["token", "revoke", "robot/spare"]).await;
    assert_eq!(pair.me().await, None);
    pair.robot = other_token(&pair, "last").await;
    assert_eq!(pair.me().await, everywhere("VIEWER"));
    pair.order("mutation ($id: UUID!) { deleteUser(userId: $id) { id } }", user).await;
    assert_eq!(pair.me().await, None);
}

async fn other_token(pair: &Pair, name: &str) -> String {
    token(&pair.here, &pair.root, name).await["secret"].as_str().unwrap().to_owned()
}

/// Creates another token of the user `robot`.
async fn token(server: &Server, root: &str, name: &str) -> Value {
    let made = "mutation ($name: String!) {
        createApiToken(input: { name: $name, role: ADMIN, serviceAccount: \"robot\" }) {
            secret apiToken { id }
        }
    }";
    ask(server, root, made, json!({ "name": name })).await.1["data"]["createApiToken"].take()
}
