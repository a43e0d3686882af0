//! A change of what somebody may do counts from its answer on, whatever was looked up before.

use std::cell::Cell;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Command, Server, TestDatabase, on_both};

on_both!(what_a_token_may_is_what_the_last_answer_said);

/// An administrator who orders at one server, and a program that asks another.
struct Pair {
    here: Server,
    /// None on SQLite, whose file has one server.
    there: Option<Server>,
    root: String,
    robot: String,
}

impl Pair {
    /// What the administrator orders, while the program asks without a pause.
    async fn order(&self, order: &str, variables: Value) -> Value {
        let is_done = Cell::new(false);
        let (answer, ()) = tokio::join!(
            async {
                let answer = ask(&self.here, &self.root, order, variables).await;
                is_done.set(true);
                answer.1
            },
            async {
                while !is_done.get() {
                    self.me().await;
                }
            }
        );
        assert!(answer["errors"].is_null(), "{answer}");
        answer["data"].clone()
    }

    /// What the program is told of itself: nothing, if it is refused.
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
    let made = "mutation {
        createApiToken(input: { name: \"ci\", role: ADMIN, serviceAccount: \"robot\" }) {
            secret apiToken { id }
        }
    }";
    let token = ask(&here, &root, made, json!({})).await.1["data"]["createApiToken"].take();
    let robot = token["secret"].as_str().unwrap().to_owned();
    let pair = Pair { here, there, root, robot };

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
    pair.order(enable, user).await;
    assert_eq!(pair.me().await, everywhere("VIEWER"));
    let revoke = "mutation ($id: UUID!, $key: String) {
        revokeApiToken(id: $id, idempotencyKey: $key) { id }
    }";
    let revoked = json!({ "id": token["apiToken"]["id"], "key": "k1" });
    pair.order(revoke, revoked.clone()).await;
    assert_eq!(pair.me().await, None);
    assert_eq!(pair.order(revoke, revoked).await["revokeApiToken"]["id"], token["apiToken"]["id"]);
}
