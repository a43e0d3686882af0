use reqwest::{StatusCode, header};
use serde_json::{Value, json};

use crate::support::{Command, Server, Socket, TestDatabase, cookie};

async fn signed_in() -> (TestDatabase, Server, String) {
    let database = TestDatabase::sqlite().await;
    let add = ["user", "add", "ada", "--role", "admin", "--password-stdin", "--own-password"];
    Command::new(&add).on(&database).input("correct horse battery").run().done();
    let server = Server::start(&database);
    let cookie = cookie(&server.sign_in("ada", "correct horse battery").await);
    (database, server, cookie)
}

#[tokio::test]
async fn an_order_from_another_site_is_refused() {
    let (_database, server, cookie) = signed_in().await;
    let query = json!({ "query": "{ me { name } }" });
    for (name, value) in [
        ("origin", "http://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        for path in ["/graphql", "/auth/logout", "/auth/login"] {
            let post = server.post(path).header(header::COOKIE, &cookie).header(name, value);
            let answer = post.json(&query).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{path} {name}: {value}");
            let body: Value = answer.json().await.unwrap();
            let text = body["error"].as_str().or(body["errors"][0]["message"].as_str());
            assert!(text.unwrap().contains("another site"), "{body}");
        }
    }
    // The user is still signed in.
    let who = server.who(server.post("/graphql").header(header::COOKIE, &cookie)).await;
    assert_eq!(who["name"], "ada");
}

#[tokio::test]
async fn our_own_pages_pass() {
    let (_database, server, cookie) = signed_in().await;
    let post = || server.post("/graphql").header(header::COOKIE, &cookie);
    assert_eq!(server.who(post().header("origin", &server.url)).await["name"], "ada");
    assert_eq!(server.who(post().header("sec-fetch-site", "same-origin")).await["name"], "ada");
}

#[tokio::test]
async fn a_socket_from_another_site_is_refused() {
    let (_database, server, cookie) = signed_in().await;
    for path in ["/graphql", "/graphql/ws"] {
        let open = Socket::request(&server, path).header(header::COOKIE, &cookie);
        let answer = open.header("origin", "http://evil.example").send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    }
}
