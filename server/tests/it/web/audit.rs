use entity::{Timestamp, audit_event};
use reqwest::{StatusCode, header};
use sea_orm::{ActiveModelTrait, IntoActiveModel};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Command, Server, TestDatabase, on_both};

on_both!(the_log_leaves_as_lines_and_as_cells, the_shell_shows_the_same);

fn token(database: &TestDatabase, name: &str, role: &str) -> String {
    let create = ["token", "create", name, "--role", role];
    Command::new(&create).on(database).run().done().trim().to_owned()
}

async fn export(server: &Server, token: &str, query: &str) -> reqwest::Response {
    server.get(&format!("/audit/export{query}")).bearer_auth(token).send().await.unwrap()
}

async fn order(server: &Server, token: &str, reason: &str, query: &str) {
    let request = server.post("/graphql").bearer_auth(token).header("carillon-reason", reason);
    let answer = request.json(&json!({ "query": query })).send().await.unwrap();
    let answer: Value = answer.json().await.unwrap();
    assert!(answer["errors"].is_null(), "{answer}");
}

const FORMULA: &str = "=HYPERLINK(\"http://evil\",\"x\")";

async fn the_log_leaves_as_lines_and_as_cells(database: TestDatabase) {
    let token = token(&database, "ci", "admin");
    let server = Server::start(&database);
    order(
        &server,
        &token,
        FORMULA,
        "mutation { createNamespace(name: \"a\") { namespace { id } } }",
    )
    .await;
    let many =
        (0..600).map(|n| format!("g{n}: createNamespace(name: \"n{n}\") {{ namespace {{ id }} }}"));
    let many: Vec<String> = many.collect();
    for some in many.chunks(100) {
        order(&server, &token, "bulk", &format!("mutation {{ {} }}", some.join(" "))).await;
    }

    let answer = export(&server, &token, "").await;
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/jsonl; charset=utf-8");
    let text = answer.text().await.unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The export takes more than one batch, and no line occurs twice.
    assert_eq!(lines.len(), 602);
    let first = lines.iter().find(|line| line["subject"] == "a").unwrap();
    assert_eq!((&first["actor"], &first["source"]), (&json!("token/ci"), &json!("127.0.0.1")));
    assert_eq!((&first["reason"], &first["namespace"]), (&json!(FORMULA), &json!("a")));

    let answer = export(&server, &token, "?format=csv&namespace=a&kind=namespace").await;
    let disposition = answer.headers()[header::CONTENT_DISPOSITION].to_str().unwrap().to_owned();
    assert_eq!(disposition, "attachment; filename=\"carillon-audit.csv\"");
    let text = answer.text().await.unwrap();
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("at,actor,source,namespace,action,"), "{text}");
    assert!(lines[1].contains(",\"'=HYPERLINK(\"\"http://evil\"\",\"\"x\"\")\","), "{text}");
}

async fn the_shell_shows_the_same(database: TestDatabase) {
    token(&database, "ci", "viewer");
    let audit = |args: &[&str]| Command::new(&[&["audit"], args].concat()).on(&database).run();
    let table = audit(&[]).done();
    assert!(table.starts_with("WHEN"), "{table}");
    assert!(table.lines().nth(1).is_some_and(|line| line.contains("token.create")), "{table}");
    let line: Value = serde_json::from_str(&audit(&["--format", "jsonl"]).done()).unwrap();
    assert_eq!((&line["actor"], &line["subject"]), (&json!("cli"), &json!("ci")));
    assert_eq!(audit(&["--format", "csv", "--actor", "nobody"]).done().lines().count(), 1);
    assert!(audit(&["--kind", "Tok%"]).refused(1).contains("kind"));
    assert!(audit(&["--namespace", "nowhere"]).refused(1).contains("nowhere"));
}

/// Writes so many entries that they do not fit into the buffers between the server and a client
/// that does not read.
async fn fill(database: &TestDatabase) {
    let text = "x".repeat(200_000);
    let tx = database.store.begin().await.unwrap();
    for _ in 0..200 {
        let row = audit_event::Model {
            id: Uuid::now_v7(),
            namespace_id: None,
            at: Timestamp(1),
            actor: "cli".to_owned(),
            source: "cli".to_owned(),
            action: "user.add".to_owned(),
            subject_id: None,
            subject: "x".to_owned(),
            reason: None,
            before: None,
            after: Some(json!({ "note": text })),
        };
        row.into_active_model().insert(&tx).await.unwrap();
    }
    database.store.commit(tx).await.unwrap();
}

#[tokio::test]
async fn an_export_does_not_outlive_the_right_to_it() {
    let database = TestDatabase::sqlite().await;
    let (admin, other) = (token(&database, "a", "admin"), token(&database, "b", "admin"));
    fill(&database).await;
    let server = Server::start(&database);
    let second = export(&server, &other, "").await;
    let unread = export(&server, &other, "").await;
    assert_eq!((second.status(), unread.status()), (StatusCode::OK, StatusCode::OK));
    // A caller has two exports at once, and leaves places for others.
    let third = export(&server, &other, "").await;
    assert_eq!(third.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(third.headers().contains_key(header::RETRY_AFTER));
    let first = export(&server, &admin, "").await;
    assert_eq!(first.status(), StatusCode::OK);
    Command::new(&["token", "revoke", "a"]).on(&database).run().done();
    assert!(first.text().await.is_err());
    // The export contains the creation of the tokens and the added entries, but also the
    // revocation, which came after its beginning.
    let whole = second.text().await.unwrap();
    assert_eq!(whole.lines().count(), 202);
}

#[tokio::test]
async fn who_may_not_read_the_log_gets_none_of_it() {
    let database = TestDatabase::sqlite().await;
    let (admin, editor) = (token(&database, "a", "admin"), token(&database, "e", "editor"));
    let server = Server::start(&database);
    let stranger = server.get("/audit/export").send().await.unwrap();
    assert_eq!(stranger.status(), StatusCode::UNAUTHORIZED);
    for query in ["", "?namespace=default"] {
        assert_eq!(export(&server, &editor, query).await.status(), StatusCode::FORBIDDEN);
    }
    for (query, status) in [
        ("?namespace=nowhere", StatusCode::NOT_FOUND),
        ("?format=xml", StatusCode::BAD_REQUEST),
        ("?since=x", StatusCode::BAD_REQUEST),
        ("?kind=a%25", StatusCode::BAD_REQUEST),
        ("?namespace=default", StatusCode::OK),
    ] {
        assert_eq!(export(&server, &admin, query).await.status(), status, "{query}");
    }
    // Paths that only look similar do not exist.
    for path in ["/audit/export/", "//audit/export", "/audit/%65xport", "/audit/../audit/export"] {
        let answer = server.get(path).send().await.unwrap();
        let text = answer.text().await.unwrap();
        assert!(!text.contains("token.create"), "{path}: {text}");
    }
    let reason =
        server.post("/graphql").bearer_auth(&admin).header("carillon-reason", "x".repeat(501));
    let refused = reason.json(&json!({ "query": "{ me { name } }" })).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
}
