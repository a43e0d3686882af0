//! Passwords that someone else set: the user must replace them at the first sign-in.

use reqwest::{StatusCode, header};
use serde_json::{Value, json};

use crate::support::{Command, Server, Socket, TestDatabase, cookie, on_both};

on_both!(
    a_one_time_password_is_good_for_nothing_but_its_change,
    a_reset_makes_a_password_one_time_and_leaves_tokens_alone,
);

const PASSWORD: &str = "correct horse battery";
const ONE_TIME: &str = "battery correct horse";
const OWN: &str = "staple battery horse";
const REQUIRED: &str = "PASSWORD_CHANGE_REQUIRED";

const ADD: &str = "mutation ($name: String!, $password: String!) {
    createUser(input: { name: $name, password: $password, role: ADMIN }) {
        user { mustChangePassword } } }";
const CHANGE: &str = "mutation ($old: String!, $new: String!) {
    changePassword(oldPassword: $old, newPassword: $new) { user { mustChangePassword } } }";
const ME: &str = "{ me { name role roleEverywhere mustChangePassword } }";
const LIST: &str = "{ schedules { totalCount } }";

/// Adds a person who keeps the password.
fn add(database: &TestDatabase, name: &str) {
    let add = ["user", "add", name, "--role", "admin", "--password-stdin", "--own-password"];
    Command::new(&add).on(database).input(PASSWORD).run().done();
}

async fn session(server: &Server, name: &str, password: &str) -> String {
    let answer = server.sign_in(name, password).await;
    assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    cookie(&answer)
}

async fn ask(server: &Server, cookie: &str, query: &str, variables: Value) -> Value {
    let body = json!({ "query": query, "variables": variables });
    let request = server.post("/graphql").header(header::COOKIE, cookie).json(&body);
    request.send().await.unwrap().json().await.unwrap()
}

fn code(answer: &Value) -> &str {
    answer["errors"][0]["extensions"]["code"].as_str().unwrap_or_default()
}

async fn a_one_time_password_is_good_for_nothing_but_its_change(database: TestDatabase) {
    add(&database, "root");
    let server = Server::start(&database);
    let root = session(&server, "root", PASSWORD).await;
    let made = ask(&server, &root, ADD, json!({ "name": "ada", "password": ONE_TIME })).await;
    assert_eq!(made["data"]["createUser"]["user"]["mustChangePassword"], true, "{made}");

    let ada = session(&server, "ada", ONE_TIME).await;
    let me = ask(&server, &ada, ME, json!({})).await;
    let expected = json!({
        "name": "ada", "role": "VIEWER", "roleEverywhere": null, "mustChangePassword": true,
    });
    assert_eq!(me["data"]["me"], expected, "{me}");
    everything_else_is_refused(&server, &ada).await;
    let open = Socket::request(&server, "/graphql/ws").header(header::COOKIE, &ada);
    let mut socket = Socket::open(open).await;
    assert_eq!(socket.init(json!({})).await.unwrap()["type"], "connection_ack");
    for query in ["subscription { runEvents { cursor } }", LIST] {
        let answer = socket.ask(query).await;
        let error = answer.get(0).unwrap_or(&answer["errors"][0]);
        assert_eq!(error["extensions"]["code"], REQUIRED, "{query}: {answer}");
    }
    assert_eq!(socket.ask(ME).await["data"]["me"], expected);

    for (new, problem) in [
        (ONE_TIME, "is the password that you have now"),
        ("short", "the minimum is 12"),
        ("password1234", "is easily guessed"),
    ] {
        let refused = ask(&server, &ada, CHANGE, json!({ "old": ONE_TIME, "new": new })).await;
        let extensions = &refused["errors"][0]["extensions"];
        assert_eq!(extensions["field"], "newPassword", "{refused}");
        assert!(extensions["problem"].as_str().unwrap().contains(problem), "{refused}");
    }
    let changed = ask(&server, &ada, CHANGE, json!({ "old": ONE_TIME, "new": OWN })).await;
    let user = &changed["data"]["changePassword"]["user"];
    assert_eq!(user["mustChangePassword"], false, "{changed}");
    let me = ask(&server, &ada, ME, json!({})).await;
    let expected = json!({
        "name": "ada", "role": "ADMIN", "roleEverywhere": "ADMIN", "mustChangePassword": false,
    });
    assert_eq!(me["data"]["me"], expected, "{me}");
    assert_eq!(ask(&server, &ada, LIST, json!({})).await["data"]["schedules"]["totalCount"], 0);
    // The client reconnects with the permissions of the new password.
    assert_eq!(socket.closed().await, Some(1012));
    assert_eq!(server.sign_in("ada", ONE_TIME).await.status(), StatusCode::UNAUTHORIZED);
    let again = session(&server, "ada", OWN).await;
    assert_eq!(ask(&server, &again, ME, json!({})).await["data"]["me"], expected);
    both_steps_are_in_the_log(&server, &root).await;
}

async fn everything_else_is_refused(server: &Server, ada: &str) {
    for query in [
        LIST,
        "{ users { totalCount } }",
        "{ sessions { id } }",
        "{ __schema { queryType { name } } }",
        "mutation { createNamespace(name: \"x\") { namespace { id } } }",
        "mutation { createApiToken(input: { name: \"ci\", role: VIEWER }) { secret } }",
        "mutation { createCalendarFeed(input: { name: \"x\", namespace: \"default\" }) { path } }",
    ] {
        let refused = ask(server, ada, query, json!({})).await;
        assert_eq!(code(&refused), REQUIRED, "{query}: {refused}");
        let message = refused["errors"][0]["message"].as_str().unwrap();
        assert!(message.contains("choose your own first"), "{message}");
    }
    let settings = ask(server, ada, "{ me { name settings { theme } } }", json!({})).await;
    assert_eq!(code(&settings), REQUIRED, "{settings}");
    let by_get = server.get("/graphql?query=%7Bschedules%7BtotalCount%7D%7D");
    let by_get = by_get.header(header::COOKIE, ada).send().await.unwrap();
    assert_eq!(code(&by_get.json::<Value>().await.unwrap()), REQUIRED);
    let introspection = json!({ "query": "{ __schema { queryType { name } } }" });
    let introspection = server.post("/graphql").header(header::COOKIE, ada).json(&introspection);
    let refused = introspection.header(header::ACCEPT, "application/graphql-response+json");
    assert_eq!(refused.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    let export = server.get("/audit/export").header(header::COOKIE, ada).send().await.unwrap();
    assert_eq!(export.status(), StatusCode::FORBIDDEN);
    assert_eq!(export.json::<Value>().await.unwrap()["code"], REQUIRED);
}

async fn both_steps_are_in_the_log(server: &Server, root: &str) {
    let log = "{ auditEvents(filter: { subject: \"ada\" }) {
        nodes { action actor before after } } }";
    let log = ask(server, root, log, json!({})).await;
    let steps = log["data"]["auditEvents"]["nodes"].as_array().unwrap();
    let changed = json!({
        "action": "user.password", "actor": "ada",
        "before": { "mustChangePassword": true }, "after": { "mustChangePassword": false },
    });
    assert_eq!(steps[0], changed, "{log}");
    assert_eq!((&steps[1]["action"], &steps[1]["actor"]), (&"user.add".into(), &"root".into()));
    assert_eq!(steps[1]["after"]["mustChangePassword"], true, "{log}");
    assert_eq!(steps.len(), 2, "{log}");
    assert!(!log.to_string().contains("battery"), "{log}");
}

async fn a_reset_makes_a_password_one_time_and_leaves_tokens_alone(database: TestDatabase) {
    add(&database, "root");
    add(&database, "ada");
    let server = Server::start(&database);
    let root = session(&server, "root", PASSWORD).await;
    let ada = session(&server, "ada", PASSWORD).await;
    let create = "mutation { createApiToken(input: { name: \"ci\", role: OPERATOR }) { secret } }";
    let token = ask(&server, &ada, create, json!({})).await["data"]["createApiToken"].take();
    let token = token["secret"].as_str().unwrap();
    let users = "{ users { nodes { id name mustChangePassword } } }";
    let listed = ask(&server, &root, users, json!({})).await["data"]["users"]["nodes"].take();
    let row = listed.as_array().unwrap().iter().find(|user| user["name"] == "ada").unwrap();
    assert_eq!(row["mustChangePassword"], false, "{listed}");

    let reset = "mutation ($id: UUID!, $password: String!) {
        resetPassword(userId: $id, password: $password) { user { mustChangePassword } } }";
    let variables = json!({ "id": row["id"], "password": ONE_TIME });
    let reset = ask(&server, &root, reset, variables).await;
    assert_eq!(reset["data"]["resetPassword"]["user"]["mustChangePassword"], true, "{reset}");
    let ended = server.post("/graphql").header(header::COOKIE, &ada);
    assert_eq!(server.who(ended).await, Value::Null);
    let ada = session(&server, "ada", ONE_TIME).await;
    assert_eq!(code(&ask(&server, &ada, LIST, json!({})).await), REQUIRED);
    // The token is not the password.
    let expected = json!({ "name": "ada/ci", "kind": "TOKEN", "role": "OPERATOR" });
    assert_eq!(server.who(server.post("/graphql").bearer_auth(token)).await, expected);
    // Signing out needs no new password.
    let left = server.post("/auth/logout").header(header::COOKIE, &ada).send().await.unwrap();
    assert_eq!(left.status(), StatusCode::NO_CONTENT);
    let left = server.post("/graphql").header(header::COOKIE, &ada);
    assert_eq!(server.who(left).await, Value::Null);
}

#[tokio::test]
async fn closed_instruments_are_not_for_a_one_time_password() {
    let database = TestDatabase::sqlite().await;
    add(&database, "root");
    // There is another person, so this password is not ada's own.
    let add = ["user", "add", "ada", "--role", "admin", "--password-stdin"];
    Command::new(&add).on(&database).input(ONE_TIME).run().done();
    let server = Server::start_configured(&database, "watch.token = \"watchers-alone-know-this\"");
    let ada = session(&server, "ada", ONE_TIME).await;
    for path in ["/metrics", "/healthz?namespace=default"] {
        let refused = server.get(path).header(header::COOKIE, &ada).send().await.unwrap();
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{path}");
        assert_eq!(refused.json::<Value>().await.unwrap()["code"], REQUIRED, "{path}");
    }
    ask(&server, &ada, CHANGE, json!({ "old": ONE_TIME, "new": OWN })).await;
    let scraped = server.get("/metrics").header(header::COOKIE, &ada).send().await.unwrap();
    assert_eq!(scraped.status(), StatusCode::OK);
}
