use reqwest::{StatusCode, header};
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};

use crate::support::{Command, Server, TestDatabase, cookie, on_both, set_cookie};

const PASSWORD: &str = "correct horse battery";

on_both!(
    a_session_opens_the_control_plane_until_it_is_closed,
    a_session_survives_a_restart,
    a_session_ends_with_the_right_to_sign_in,
    the_first_visitor_is_told_who_may_sign_in,
);

fn add_ada(database: &TestDatabase) {
    let add = ["user", "add", "ada", "--role", "operator", "--password-stdin", "--own-password"];
    Command::new(&add).on(database).input(PASSWORD).run().done();
}

async fn the_first_visitor_is_told_who_may_sign_in(database: TestDatabase) {
    let server = Server::start(&database);
    let first_visit = async || {
        let answer = server.get("/auth/methods").send().await.unwrap();
        answer.json::<Value>().await.unwrap()["first_visit"].clone()
    };
    assert_eq!(first_visit().await, json!({ "administrator": null }));
    add_ada(&database);
    assert_eq!(first_visit().await, json!({ "administrator": null }), "ada is an operator");
    let add = ["user", "add", "grace", "--role", "admin", "--password-stdin", "--own-password"];
    Command::new(&add).on(&database).input(PASSWORD).run().done();
    assert_eq!(first_visit().await, json!({ "administrator": "grace" }));
    assert_eq!(server.sign_in("ada", PASSWORD).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(first_visit().await, Value::Null);
}

async fn a_session_opens_the_control_plane_until_it_is_closed(database: TestDatabase) {
    add_ada(&database);
    let server = Server::start(&database);
    assert_eq!(server.who(server.post("/graphql")).await, Value::Null);
    let answer = server.sign_in("ada", PASSWORD).await;
    assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    let set = set_cookie(&answer, false);
    for part in ["carillon-0=", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age="] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("Secure"), "{set}");
    let cookie = cookie(&answer);
    let who = server.who(server.post("/graphql").header(header::COOKIE, &cookie)).await;
    assert_eq!(who, json!({ "name": "ada", "kind": "USER", "role": "OPERATOR" }));

    let left = server.post("/auth/logout").header(header::COOKIE, &cookie).send().await.unwrap();
    assert_eq!(left.status(), StatusCode::NO_CONTENT);
    let who = server.who(server.post("/graphql").header(header::COOKIE, &cookie)).await;
    assert_eq!(who, Value::Null);
}

async fn a_session_survives_a_restart(database: TestDatabase) {
    add_ada(&database);
    let server = Server::start(&database);
    let cookie = cookie(&server.sign_in("ada", PASSWORD).await);
    server.stop();
    let server = Server::start(&database);
    let who = server.who(server.post("/graphql").header(header::COOKIE, &cookie)).await;
    assert_eq!(who["name"], "ada");
}

async fn a_session_ends_with_the_right_to_sign_in(database: TestDatabase) {
    add_ada(&database);
    let server = Server::start(&database);
    let cookie = cookie(&server.sign_in("ada", PASSWORD).await);
    Command::new(&["user", "disable", "ada"]).on(&database).run().done();
    let who = server.who(server.post("/graphql").header(header::COOKIE, &cookie)).await;
    assert_eq!(who, Value::Null);
    assert_eq!(server.sign_in("ada", PASSWORD).await.status(), StatusCode::UNAUTHORIZED);
    Command::new(&["user", "enable", "ada"]).on(&database).run().done();
    assert_eq!(server.sign_in("ada", PASSWORD).await.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn signing_in_changes_the_key_of_the_session() {
    let database = TestDatabase::sqlite().await;
    add_ada(&database);
    let server = Server::start(&database);
    let first = cookie(&server.sign_in("ada", PASSWORD).await);
    let body = json!({ "name": "ada", "password": PASSWORD });
    let again = server.post("/auth/login").header(header::COOKIE, &first).json(&body);
    let second = cookie(&again.send().await.unwrap());
    assert_ne!(first, second);
    let who = server.who(server.post("/graphql").header(header::COOKIE, &first)).await;
    assert_eq!(who, Value::Null);
}

#[tokio::test]
async fn the_key_itself_is_not_in_the_database() {
    let database = TestDatabase::sqlite().await;
    add_ada(&database);
    let server = Server::start(&database);
    let cookie = cookie(&server.sign_in("ada", PASSWORD).await);
    let key = cookie.strip_prefix("carillon-0=").unwrap().to_owned();
    let rows = <entity::session::Entity as sea_orm::EntityTrait>::find();
    let rows = rows.all(database.store.read()).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert!(!format!("{rows:?}").contains(&key));
}

#[tokio::test]
async fn a_refusal_says_the_same_whatever_was_wrong() {
    let database = TestDatabase::sqlite().await;
    add_ada(&database);
    let server = Server::start(&database);
    for (name, password) in [("ada", "wrong horse battery"), ("bob", PASSWORD), ("", "")] {
        let answer = server.sign_in(name, password).await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
        assert!(answer.headers().get(header::SET_COOKIE).is_none());
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body, json!({ "error": "wrong name or password" }));
    }
}

/// The response time could reveal which users exist. Nearly all of it is spent on hashing the
/// password, so the test counts hashes.
#[tokio::test]
async fn no_name_costs_less_than_another() {
    let database = TestDatabase::sqlite().await;
    add_ada(&database);
    for name in ["gone", "program", "elsewhere"] {
        let add = ["user", "add", name, "--role", "viewer", "--password-stdin", "--own-password"];
        Command::new(&add).on(&database).input(PASSWORD).run().done();
    }
    Command::new(&["user", "disable", "gone"]).on(&database).run().done();
    let tx = database.store.begin().await.unwrap();
    let without = "UPDATE \"user\" SET password_hash = '' WHERE name IN ('program', 'elsewhere')";
    tx.execute_unprepared(without).await.unwrap();
    let service = "UPDATE \"user\" SET is_service = 1 WHERE name = 'program'";
    tx.execute_unprepared(service).await.unwrap();
    database.store.commit(tx).await.unwrap();

    let server = Server::start_with(&database, &["--log-filter", "warn,carillon=debug"]);
    let (long, nul) = ("x".repeat(2_000), "a\0b");
    for (name, password) in [
        ("ada", "wrong horse battery"),
        ("bob", PASSWORD),
        ("gone", PASSWORD),
        ("program", PASSWORD),
        ("elsewhere", ""),
        ("ada", &*long),
        ("bob", &*long),
        (nul, PASSWORD),
        ("", ""),
    ] {
        let answer = server.sign_in(name, password).await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{name}");
        let log = server.logged("a sign-in was refused").await;
        let computed: Vec<_> =
            log.lines().filter(|line| line.contains("computes a password's hash")).collect();
        assert!(computed.len() == 1 && computed[0].contains("m=19456,t=2,p=1"), "{name}: {log}");
    }
}

#[tokio::test]
async fn guessing_is_limited() {
    let database = TestDatabase::sqlite().await;
    add_ada(&database);
    let server = Server::start(&database);
    for _ in 0..5 {
        let answer = server.sign_in("ada", "wrong horse battery").await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    }
    // From here on even the right password is refused, because it may be a guess.
    let answer = server.sign_in("ada", PASSWORD).await;
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    let seconds: u64 = answer.headers()[header::RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((1..=31).contains(&seconds), "{seconds}");
    assert!(answer.json::<Value>().await.unwrap()["error"].as_str().unwrap().contains("wait"));
}

#[tokio::test]
async fn a_body_that_is_no_sign_in_is_refused() {
    let database = TestDatabase::sqlite().await;
    let server = Server::start(&database);
    let post = || server.post("/auth/login").header(header::CONTENT_TYPE, "application/json");
    for (body, status) in [
        ("{}".to_owned(), StatusCode::UNPROCESSABLE_ENTITY),
        ("{".to_owned(), StatusCode::BAD_REQUEST),
        (
            json!({ "name": "a", "password": "b", "x": 1 }).to_string(),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        ("x".repeat(5_000), StatusCode::PAYLOAD_TOO_LARGE),
    ] {
        let answer = post().body(body).send().await.unwrap();
        assert_eq!(answer.status(), status);
        assert!(answer.json::<Value>().await.unwrap()["error"].is_string());
    }
    let form = server.post("/auth/login").body("name=ada&password=x").send().await.unwrap();
    assert_eq!(form.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

#[tokio::test]
async fn behind_tls_the_cookie_is_secure() {
    let database = TestDatabase::sqlite().await;
    add_ada(&database);
    let server = Server::start_with(&database, &["--public-url", "https://cron.example.org"]);
    let answer = server.sign_in("ada", PASSWORD).await;
    let set = set_cookie(&answer, false);
    assert!(set.contains("Secure"), "{set}");
    assert!(answer.headers().contains_key(header::STRICT_TRANSPORT_SECURITY));
}
