//! Requests that the built server refuses to workers.

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::workers::{Desk, of, program, task};
use crate::support::{Command, TestDatabase, on_both};

on_both!(a_token_limited_to_queues_allows_nothing_else, a_refusal_names_the_field_that_is_wrong);

async fn a_token_limited_to_queues_allows_nothing_else(database: TestDatabase) {
    let desk = Desk::open(&database);
    let add = ["user", "add", "ada", "--role", "operator", "--password-stdin", "--own-password"];
    Command::new(&add).on(&database).input("correct horse battery\n").run().done();
    let signed_in = desk.server.sign_in("ada", "correct horse battery").await;
    let cookie = crate::support::cookie(&signed_in);
    let create = "mutation { createApiToken(input: { name: \"pulls\", role: OPERATOR, \
        queues: [\"emails\"] }) { secret apiToken { queues } } }";
    let made = desk.server.post("/graphql").header(reqwest::header::COOKIE, cookie);
    let made = made.json(&json!({ "query": create })).send().await.unwrap();
    let made: Value = made.json().await.unwrap();
    let made = &made["data"]["createApiToken"];
    assert_eq!(made["apiToken"]["queues"], json!(["emails"]), "{made}");
    let token = made["secret"].as_str().unwrap();

    let (status, answer) = desk.word_by(token, "register", program("mailer", 1)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let worker = answer["workerId"].clone();
    let mut other = program("mailer", 1);
    other["queues"] = json!(["emails", "invoices"]);
    let (status, answer) = desk.word_by(token, "register", other).await;
    assert_eq!((status, &answer["error"]["code"]), (StatusCode::FORBIDDEN, &json!("FORBIDDEN")));
    assert!(answer["error"]["message"].as_str().unwrap().contains("invoices"), "{answer}");
    // Another program cannot act as this worker, because it has another token.
    let (status, _) = desk.word("poll", json!({ "workerId": worker, "free": 1 })).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let asked = json!({ "query": "{ schedules { nodes { id } } }" });
    let asked = desk.server.post("/graphql").bearer_auth(token).json(&asked);
    let refused: Value = asked.send().await.unwrap().json().await.unwrap();
    assert_eq!(refused["errors"][0]["extensions"]["code"], "FORBIDDEN", "{refused}");
    // A browser session is not a worker.
    let nobody = desk.server.post("/worker/v1/register").json(&program("x", 1));
    assert_eq!(nobody.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
}

async fn a_refusal_names_the_field_that_is_wrong(database: TestDatabase) {
    let desk = Desk::open(&database);
    let with = |key: &str, value: Value| {
        let mut said = program("mailer", 1);
        said[key] = value;
        said
    };
    for (said, field) in [
        (with("name", json!("a b")), "name"),
        (with("queues", json!([])), "queues"),
        (with("queues", json!(["emails", "No!"])), "queues[1]"),
        (with("tags", json!(["A"])), "tags[0]"),
        (with("capacity", json!(0)), "capacity"),
        (with("capacity", json!("many")), "capacity"),
        (with("version", json!("x".repeat(200))), "version"),
    ] {
        let (status, answer) = desk.word("register", said).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        assert_eq!(answer["error"]["field"], field, "{answer}");
    }
    let (status, answer) = desk.word("register", with("protocol", json!(9))).await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (StatusCode::UPGRADE_REQUIRED, &json!("PROTOCOL"))
    );
    // A worker of another version is told so, whatever the fields of its version are.
    for protocol in [0, 2] {
        let other = json!({ "protocol": protocol, "lanes": { "emails": 1 } });
        let (status, answer) = desk.word("register", other).await;
        assert_eq!(status, StatusCode::UPGRADE_REQUIRED, "{answer}");
        let said = format!("speaks version 1 of the protocol, and the worker {protocol};");
        assert!(answer["error"]["message"].as_str().unwrap().contains(&said), "{answer}");
    }
    let found = desk.graphql("{ workers { name } }", json!({})).await;
    assert_eq!(found["workers"], json!([]), "none of them is registered");
    let (status, _) = desk.word("register", with("namespace", json!("nowhere"))).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, _) = desk.word("dance", json!({})).await;
    assert_eq!(status, StatusCode::NOT_FOUND);

    let worker = desk.worker("mailer", 1).await;
    desk.run("nightly", task(json!({}))).await;
    let job = desk.job(&worker).await;
    let long = "x".repeat(300 * 1024);
    for (word, said, field) in [
        ("poll", json!({ "workerId": worker, "free": 1, "waitSeconds": 60 }), "waitSeconds"),
        ("complete", of(&worker, &job, json!({ "output": { "text": long } })), "output"),
        ("complete", of(&worker, &job, json!({ "output": { "text": "a\u{0}" } })), "output"),
        ("fail", of(&worker, &job, json!({ "message": " " })), "message"),
        ("fail", of(&worker, &job, json!({ "message": "x".repeat(5_000) })), "message"),
        ("extend", of(&worker, &job, json!({ "seconds": 1_000_000 })), "seconds"),
        (
            "log",
            of(&worker, &job, json!({ "lines": [{ "text": "x".repeat(17_000) }] })),
            "lines[0].text",
        ),
    ] {
        let (status, answer) = desk.word(word, said).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{word}: {answer}");
        assert_eq!(answer["error"]["field"], field, "{word}: {answer}");
    }
    // After all these requests, the job has not ended.
    desk.ok("complete", of(&worker, &job, json!({}))).await;
    for (target, field) in [
        (json!({ "queue": "No!", "task": "send" }), "task.target.worker.queue"),
        (json!({ "queue": "emails", "task": "s p" }), "task.target.worker.task"),
    ] {
        let body = json!({
            "query": "mutation ($input: CreateScheduleInput!) {
                createSchedule(input: $input) { schedule { id } } }",
            "variables": { "input": {
                "name": "bad", "timing": { "expressions": ["0 0 1 1 *"] },
                "task": { "target": { "worker": target } },
            } },
        });
        let refused = desk.server.post("/graphql").bearer_auth(&desk.token).json(&body);
        let refused: Value = refused.send().await.unwrap().json().await.unwrap();
        assert_eq!(refused["errors"][0]["extensions"]["field"], field, "{refused}");
    }
}
