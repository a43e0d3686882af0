//! Sessions: how long they last, how they are ended, and which other access ends with them.

use entity::session::{ActiveModel, Column, Entity};
use reqwest::header;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, Set};
use serde_json::{Value, json};

use crate::support::{Command, Server, Socket, TestDatabase, cookie, on_both};

const PASSWORD: &str = "correct horse battery";
const OTHER: &str = "staple battery horse";

on_both!(
    a_session_that_is_not_used_ends,
    a_session_that_is_too_old_ends_however_much_it_is_used,
    a_key_that_was_signed_out_or_planted_opens_nothing,
    changing_the_password_ends_the_other_sessions,
    a_revoked_session_ends_what_it_has_open,
    an_administrator_sees_and_ends_the_sessions_of_others,
    a_user_ends_all_other_sessions_at_once,
    a_right_that_was_taken_ends_what_was_opened_with_it,
);

fn add(database: &TestDatabase, name: &str, role: &str) {
    let add = ["user", "add", name, "--role", role, "--password-stdin", "--own-password"];
    Command::new(&add).on(database).input(PASSWORD).run().done();
}

async fn session(server: &Server, name: &str, password: &str) -> String {
    cookie(&server.sign_in(name, password).await)
}

async fn is_signed_in(server: &Server, cookie: &str) -> bool {
    server.who(server.post("/graphql").header(header::COOKIE, cookie)).await != Value::Null
}

async fn ask(server: &Server, cookie: &str, query: &str, variables: Value) -> Value {
    let body = json!({ "query": query, "variables": variables });
    let request = server.post("/graphql").header(header::COOKIE, cookie).json(&body);
    request.send().await.unwrap().json().await.unwrap()
}

/// Moves the recorded times of the only session into the past.
async fn age(database: &TestDatabase, field: &str, hours: i64) {
    let row = Entity::find().one(database.store.read()).await.unwrap().unwrap();
    let mut data = row.data;
    let then = carillon::clock::Clock::system().now() - chrono::TimeDelta::hours(hours);
    data["signed_in"][field] = json!(then);
    let aged = ActiveModel { data: Set(data), ..ActiveModel::default() };
    let tx = database.store.begin().await.unwrap();
    Entity::update_many().set(aged).filter(Column::Id.eq(row.id)).exec(&tx).await.unwrap();
    database.store.commit(tx).await.unwrap();
}

async fn a_session_that_is_not_used_ends(database: TestDatabase) {
    add(&database, "ada", "viewer");
    let server = Server::start(&database);
    let cookie = session(&server, "ada", PASSWORD).await;
    age(&database, "renewed", 11).await;
    assert!(is_signed_in(&server, &cookie).await);
    age(&database, "renewed", 13).await;
    assert!(!is_signed_in(&server, &cookie).await);
    assert!(Entity::find().one(database.store.read()).await.unwrap().is_none());
}

async fn a_session_that_is_too_old_ends_however_much_it_is_used(database: TestDatabase) {
    add(&database, "ada", "viewer");
    let server = Server::start(&database);
    let cookie = session(&server, "ada", PASSWORD).await;
    age(&database, "since", 7 * 24 - 1).await;
    assert!(is_signed_in(&server, &cookie).await);
    age(&database, "since", 7 * 24 + 1).await;
    assert!(!is_signed_in(&server, &cookie).await);
}

async fn a_key_that_was_signed_out_or_planted_opens_nothing(database: TestDatabase) {
    add(&database, "ada", "viewer");
    let server = Server::start(&database);
    let first = session(&server, "ada", PASSWORD).await;
    let logout = server.post("/auth/logout").header(header::COOKIE, &first).send().await.unwrap();
    assert!(logout.status().is_success());
    assert!(!is_signed_in(&server, &first).await);
    // A key that an attacker has planted is neither used for the new session nor returned.
    for planted in [&*first, "carillon-0=AAAAAAAAAAAAAAAAAAAAAA"] {
        let body = json!({ "name": "ada", "password": PASSWORD });
        let login = server.post("/auth/login").header(header::COOKIE, planted).json(&body);
        let opened = cookie(&login.send().await.unwrap());
        assert_ne!(opened, planted);
        assert!(is_signed_in(&server, &opened).await);
        assert!(!is_signed_in(&server, planted).await);
    }
}

const CHANGE: &str = "mutation ($old: String!, $new: String!) {
    changePassword(oldPassword: $old, newPassword: $new) { user { name } } }";

async fn changing_the_password_ends_the_other_sessions(database: TestDatabase) {
    add(&database, "ada", "viewer");
    let server = Server::start(&database);
    let elsewhere = session(&server, "ada", PASSWORD).await;
    let here = session(&server, "ada", PASSWORD).await;
    for (old, new, field) in [
        ("wrong horse battery", OTHER, "oldPassword"),
        (PASSWORD, "short", "newPassword"),
        (PASSWORD, &*"x".repeat(257), "newPassword"),
    ] {
        let answer = ask(&server, &here, CHANGE, json!({ "old": old, "new": new })).await;
        assert_eq!(answer["errors"][0]["extensions"]["field"], field, "{answer}");
    }
    assert!(is_signed_in(&server, &elsewhere).await);
    let list = "{ sessions { id address isCurrent } }";
    let listed = ask(&server, &here, list, json!({})).await["data"]["sessions"].take();
    let listed = listed.as_array().unwrap().clone();
    assert_eq!(listed.len(), 2);
    assert_eq!(listed.iter().filter(|session| session["isCurrent"] == true).count(), 1);
    assert_eq!(listed[0]["address"], "127.0.0.1");

    let answer = ask(&server, &here, CHANGE, json!({ "old": PASSWORD, "new": OTHER })).await;
    assert_eq!(answer["data"]["changePassword"]["user"]["name"], "ada", "{answer}");
    assert!(is_signed_in(&server, &here).await);
    assert!(!is_signed_in(&server, &elsewhere).await);
    assert_eq!(server.sign_in("ada", PASSWORD).await.status(), 401);
    assert_eq!(server.sign_in("ada", OTHER).await.status(), 204);
    // Guesses at the current password in an open session are limited like those at the sign-in.
    let mut last = Value::Null;
    for _ in 0..6 {
        last = ask(&server, &here, CHANGE, json!({ "old": "a guess of many", "new": OTHER })).await;
    }
    assert_eq!(last["errors"][0]["extensions"]["code"], "RATE_LIMITED", "{last}");
}

async fn watching(server: &Server, cookie: &str) -> Socket {
    let open = Socket::request(server, "/graphql/ws").header(header::COOKIE, cookie);
    let mut socket = Socket::open(open).await;
    socket.init(json!({})).await.unwrap();
    let payload = json!({ "query": "subscription { runEvents { cursor } }" });
    socket.send(json!({ "id": "1", "type": "subscribe", "payload": payload })).await;
    socket
}

async fn a_revoked_session_ends_what_it_has_open(database: TestDatabase) {
    add(&database, "ada", "viewer");
    add(&database, "bob", "viewer");
    let server = Server::start(&database);
    let lost = session(&server, "ada", PASSWORD).await;
    let mut socket = watching(&server, &lost).await;
    let here = session(&server, "ada", PASSWORD).await;
    let listed = ask(&server, &here, "{ sessions { id isCurrent } }", json!({})).await;
    let sessions = listed["data"]["sessions"].as_array().unwrap();
    let id = &sessions.iter().find(|session| session["isCurrent"] == false).unwrap()["id"];
    let revoke = "mutation ($id: String!) { revokeSession(id: $id) }";
    // Sessions of other users are not affected.
    let bob = session(&server, "bob", PASSWORD).await;
    let refused = ask(&server, &bob, revoke, json!({ "id": id })).await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "NOT_FOUND", "{refused}");
    let foreign = ask(
        &server,
        &bob,
        "query ($id: UUID) { sessions(userId: $id) { id } }",
        json!({
            "id": "00000000-0000-7000-8000-000000000001"
        }),
    );
    assert_eq!(foreign.await["errors"][0]["extensions"]["code"], "FORBIDDEN");

    let revoked = ask(&server, &here, revoke, json!({ "id": id })).await;
    assert_eq!(revoked["data"]["revokeSession"], true, "{revoked}");
    assert!(!is_signed_in(&server, &lost).await);
    assert_eq!(socket.closed().await, Some(4401));
}

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const REVOKE_ALL: &str = "mutation ($id: UUID!, $reason: String) {
    revokeSessions(userId: $id, reason: $reason) }";

/// Signs in with a browser that names itself.
async fn session_in(server: &Server, name: &str, browser: &str) -> String {
    let body = json!({ "name": name, "password": PASSWORD });
    let login = server.post("/auth/login").header(header::USER_AGENT, browser).json(&body);
    cookie(&login.send().await.unwrap())
}

async fn id_of(server: &Server, administrator: &str, name: &str) -> Value {
    let users = ask(server, administrator, "{ users { nodes { id name } } }", json!({})).await;
    let users = users["data"]["users"]["nodes"].as_array().unwrap();
    users.iter().find(|user| user["name"] == name).unwrap()["id"].clone()
}

async fn an_administrator_sees_and_ends_the_sessions_of_others(database: TestDatabase) {
    for (name, role) in [("ada", "viewer"), ("bob", "editor"), ("root", "admin")] {
        add(&database, name, role);
    }
    let server = Server::start(&database);
    let plain = session(&server, "ada", PASSWORD).await;
    let named = session_in(&server, "ada", FIREFOX).await;
    let mut socket = watching(&server, &named).await;
    let bob = session(&server, "bob", PASSWORD).await;
    let root = session(&server, "root", PASSWORD).await;
    let ada = id_of(&server, &root, "ada").await;

    let list = "query ($id: UUID) { sessions(userId: $id) {
        browser address beganAt usedAt isCurrent } }";
    let listed = ask(&server, &root, list, json!({ "id": ada })).await;
    let sessions = listed["data"]["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2, "{listed}");
    let browsers = sessions.iter().map(|session| session["browser"].as_str());
    let browsers: std::collections::BTreeSet<_> = browsers.collect();
    assert_eq!(browsers, [None, Some("Firefox 140 on Linux")].into());
    for session in sessions {
        assert_eq!(
            (&session["address"], &session["isCurrent"]),
            (&"127.0.0.1".into(), &false.into())
        );
        assert!(session["beganAt"].is_string() && session["usedAt"].is_string(), "{session}");
    }

    for (query, variables) in
        [(list, json!({ "id": ada })), (REVOKE_ALL, json!({ "id": ada, "reason": null }))]
    {
        let refused = ask(&server, &bob, query, variables).await;
        assert_eq!(refused["errors"][0]["extensions"]["code"], "FORBIDDEN", "{refused}");
    }
    assert!(is_signed_in(&server, &plain).await);

    let variables = json!({ "id": ada, "reason": "a lost laptop" });
    let ended = ask(&server, &root, REVOKE_ALL, variables).await;
    assert_eq!(ended["data"]["revokeSessions"], 2, "{ended}");
    assert_eq!(socket.closed().await, Some(4401));
    for lost in [&plain, &named] {
        assert!(!is_signed_in(&server, lost).await);
    }
    for other in [&bob, &root] {
        assert!(is_signed_in(&server, other).await);
    }
    let audit = "{ auditEvents(filter: { kind: \"session\" }) {
        nodes { action actor subject reason after } } }";
    let audit = ask(&server, &root, audit, json!({})).await;
    let entry = json!({
        "action": "session.revokeAll", "actor": "root", "subject": "ada",
        "reason": "a lost laptop", "after": { "ended": 2 },
    });
    assert_eq!(audit["data"]["auditEvents"]["nodes"], json!([entry]), "{audit}");

    let nobody = json!({ "id": "00000000-0000-7000-8000-000000000001" });
    let missing = ask(&server, &root, REVOKE_ALL, nobody).await;
    assert_eq!(missing["errors"][0]["extensions"]["code"], "NOT_FOUND", "{missing}");
}

async fn a_user_ends_all_other_sessions_at_once(database: TestDatabase) {
    add(&database, "root", "admin");
    let server = Server::start(&database);
    let elsewhere = session(&server, "root", PASSWORD).await;
    let here = session(&server, "root", PASSWORD).await;
    let root = id_of(&server, &here, "root").await;
    for count in [1, 0] {
        let ended = ask(&server, &here, REVOKE_ALL, json!({ "id": root })).await;
        assert_eq!(ended["data"]["revokeSessions"], count, "{ended}");
        assert!(is_signed_in(&server, &here).await);
        assert!(!is_signed_in(&server, &elsewhere).await);
    }
}

async fn a_right_that_was_taken_ends_what_was_opened_with_it(database: TestDatabase) {
    add(&database, "ada", "viewer");
    add(&database, "root", "admin");
    let server = Server::start(&database);
    let ada = session(&server, "ada", PASSWORD).await;
    let mut socket = watching(&server, &ada).await;
    let root = session(&server, "root", PASSWORD).await;
    let users = ask(&server, &root, "{ users { nodes { id name } } }", json!({})).await;
    let users = users["data"]["users"]["nodes"].as_array().unwrap();
    let id = &users.iter().find(|user| user["name"] == "ada").unwrap()["id"];
    let role = "mutation ($id: UUID!) { setUserRole(userId: $id, role: null) { user { id } } }";
    let taken = ask(&server, &root, role, json!({ "id": id })).await;
    assert!(taken["errors"].is_null(), "{taken}");
    // The server closes the socket, so that the client reconnects and is authenticated again.
    assert_eq!(socket.closed().await, Some(1012));
    let refused = ask(&server, &ada, "{ schedules { totalCount } }", json!({})).await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "FORBIDDEN", "{refused}");
}

#[tokio::test]
async fn nobody_signs_in_as_a_service_account() {
    let database = TestDatabase::sqlite().await;
    add(&database, "root", "admin");
    let server = Server::start(&database);
    let root = session(&server, "root", PASSWORD).await;
    let make = "mutation { createServiceAccount(input: { name: \"robot\", role: ADMIN })
        { user { id } } }";
    let made = ask(&server, &root, make, json!({})).await;
    let id = &made["data"]["createServiceAccount"]["user"]["id"];
    for password in ["", PASSWORD] {
        assert_eq!(server.sign_in("robot", password).await.status(), 401);
    }
    let reset = "mutation ($id: UUID!) {
        resetPassword(userId: $id, password: \"correct horse battery\") { user { id } } }";
    let refused = ask(&server, &root, reset, json!({ "id": id })).await;
    assert_eq!(refused["errors"][0]["extensions"]["code"], "CONFLICT", "{refused}");
    let token = "mutation { createApiToken(input: {
        name: \"ci\", role: OPERATOR, serviceAccount: \"robot\" }) { secret } }";
    let made = ask(&server, &root, token, json!({})).await;
    let secret = made["data"]["createApiToken"]["secret"].as_str().unwrap();
    let who = server.who(server.post("/graphql").bearer_auth(secret)).await;
    assert_eq!(who, json!({ "name": "robot/ci", "kind": "TOKEN", "role": "OPERATOR" }));
}
