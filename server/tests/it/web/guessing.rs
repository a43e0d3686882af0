//! Guesses at passwords on several nodes, across restarts, and while they cannot be counted.

use std::time::Instant;

use carillon::clock::Clock;
use reqwest::{StatusCode, header};
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};

use crate::support::{Command, Server, TestDatabase, cookie, device_cookie, on_both};

const PASSWORD: &str = "correct horse battery";

on_both!(
    guesses_are_not_forgotten_by_a_restart,
    sign_in_is_refused_while_guesses_cannot_be_counted,
    a_browser_that_signed_in_before_is_not_locked_out_by_guesses,
    guesses_do_not_keep_a_user_from_replacing_a_one_time_password,
);

fn add_ada(database: &TestDatabase) {
    let add = ["user", "add", "ada", "--role", "operator", "--password-stdin", "--own-password"];
    Command::new(&add).on(database).input(PASSWORD).run().done();
}

/// The number of wrong passwords that are tried before a server says that there were too many. The
/// servers take turns.
async fn guesses(servers: &[&Server]) -> u64 {
    let mut refused = 0;
    for guess in 0..200 {
        let server = servers[guess % servers.len()];
        match server.sign_in("ada", "wrong horse battery").await.status() {
            StatusCode::UNAUTHORIZED => {}
            StatusCode::TOO_MANY_REQUESTS => refused += 1,
            other => panic!("{other}"),
        }
        if refused == servers.len() {
            return (guess + 1 - refused) as u64;
        }
    }
    panic!("nobody was refused");
}

/// The number of permitted guesses: five at once, and one more every 30 s. On a slow machine, more
/// time passes.
fn most(begun: Instant, clock: &Clock) -> u64 {
    5 + clock.instant().duration_since(begun).as_secs() / 30 + 1
}

async fn guesses_are_not_forgotten_by_a_restart(database: TestDatabase) {
    add_ada(&database);
    let clock = Clock::system();
    let begun = clock.instant();
    let server = Server::start(&database);
    let before = guesses(&[&server]).await;
    assert!(before >= 5, "{before}");
    server.stop();
    let server = Server::start(&database);
    let after = guesses(&[&server]).await;
    assert!(before + after <= most(begun, &clock), "{before} and {after}");
}

#[tokio::test]
async fn two_nodes_count_the_same_guesses() {
    let database = TestDatabase::postgres().await;
    add_ada(&database);
    let clock = Clock::system();
    let [one, two] =
        ["one", "two"].map(|name| Server::start_with(&database, &["--node-name", name]));
    let begun = clock.instant();
    let guessed = guesses(&[&one, &two]).await;
    assert!((5..=most(begun, &clock)).contains(&guessed), "{guessed}");
    // Other user names have their own guesses, on both nodes.
    for server in [&one, &two] {
        let answer = server.sign_in("bob", "wrong horse battery").await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    }
}

async fn a_browser_that_signed_in_before_is_not_locked_out_by_guesses(database: TestDatabase) {
    add_ada(&database);
    let add = ["user", "add", "bob", "--role", "operator", "--password-stdin", "--own-password"];
    Command::new(&add).on(&database).input(PASSWORD).run().done();
    let server = Server::start(&database);
    let known = device_cookie(&server.sign_in("ada", PASSWORD).await);
    guesses(&[&server]).await;
    assert_eq!(server.sign_in("ada", PASSWORD).await.status(), StatusCode::TOO_MANY_REQUESTS);
    let try_with = async |cookie: &str, name: &str, password: &str| {
        let body = json!({ "name": name, "password": password });
        let post = server.post("/auth/login").header(header::COOKIE, cookie).json(&body);
        post.send().await.unwrap().status()
    };
    let name = known.split('=').next().unwrap();
    let planted = format!("{name}={}", "0".repeat(48));
    for unknown in [&*planted, &format!("{name}=x"), &format!("{name}={}", "é".repeat(24))] {
        let status = try_with(unknown, "ada", PASSWORD).await;
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{unknown}");
    }
    assert_eq!(try_with(&known, "ada", PASSWORD).await, StatusCode::NO_CONTENT);
    // The browser is known only for the user who signed in there, and has few guesses of its own.
    for _ in 0..5 {
        try_with(&known, "ada", "wrong horse battery").await;
    }
    let status = try_with(&known, "ada", "wrong horse battery").await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    for _ in 0..6 {
        server.sign_in("bob", "wrong horse battery").await;
    }
    assert_eq!(try_with(&known, "bob", PASSWORD).await, StatusCode::TOO_MANY_REQUESTS);
}

async fn sign_in_is_refused_while_guesses_cannot_be_counted(database: TestDatabase) {
    add_ada(&database);
    let server = Server::start(&database);
    let transaction = database.store.begin().await.unwrap();
    transaction.execute_unprepared("DROP TABLE guess").await.unwrap();
    database.store.commit(transaction).await.unwrap();
    let answer = server.sign_in("ada", PASSWORD).await;
    assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
}

async fn guesses_do_not_keep_a_user_from_replacing_a_one_time_password(database: TestDatabase) {
    add_ada(&database);
    let server = Server::start(&database);
    let known = device_cookie(&server.sign_in("ada", PASSWORD).await);
    let reset = ["user", "passwd", "ada", "--random"];
    let said = Command::new(&reset).on(&database).run().done();
    let once = said.lines().find_map(|line| line.strip_prefix("password: ")).unwrap();
    guesses(&[&server]).await;
    let body = json!({ "name": "ada", "password": once });
    let login = server.post("/auth/login").header(header::COOKIE, &known).json(&body);
    let here = cookie(&login.send().await.unwrap());
    let query = "mutation ($old: String!, $new: String!) {
        changePassword(oldPassword: $old, newPassword: $new) { user { mustChangePassword } } }";
    let variables = json!({ "old": once, "new": "staple battery horse" });
    let body = json!({ "query": query, "variables": variables });
    let change = server.post("/graphql").header(header::COOKIE, &here).json(&body);
    let answer: Value = change.send().await.unwrap().json().await.unwrap();
    let user = &answer["data"]["changePassword"]["user"];
    assert_eq!(user["mustChangePassword"], false, "{answer}");
}
