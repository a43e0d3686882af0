use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    the_log_says_who_did_what_when_from_where_and_why,
    the_log_is_paged_and_narrowed,
    an_administrator_of_a_namespace_reads_what_concerns_it,
    no_secret_is_in_the_log,
);

const LOG: &str = "query ($namespace: String, $filter: AuditFilter, $first: Int, $after: String) {
    auditEvents(namespace: $namespace, filter: $filter, first: $first, after: $after) {
        nodes { at actor source namespace action subject reason before after }
        pageInfo { hasNextPage endCursor }
    } }";

async fn log(desk: &Desk, variables: Value) -> Vec<Value> {
    let answer = desk.ask(LOG, variables).await;
    answer["auditEvents"]["nodes"].as_array().unwrap().clone()
}

fn actions(log: &[Value]) -> Vec<&str> {
    log.iter().map(|event| event["action"].as_str().unwrap()).collect()
}

async fn the_log_says_who_did_what_when_from_where_and_why(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let (_, ada) = desk.account("ada", Some("OPERATOR")).await;
    let mut ada = desk.person(ada).await;
    let later = || desk.clock.advance(std::time::Duration::from_secs(1));
    later();
    let pause = "mutation ($id: UUID!, $reason: String!) {
        pauseSchedule(id: $id, reason: $reason) { schedule { id } } }";
    let paused = desk.send_as(&ada, pause, json!({ "id": id, "reason": "flood" })).await;
    assert!(paused.errors.is_empty(), "{:?}", paused.errors);
    later();
    // If a mutation takes no reason, the reason of the request is recorded.
    ada.reason = Some("the water is gone".to_owned());
    let resume = "mutation ($id: UUID!) { resumeSchedule(id: $id) { schedule { id } } }";
    let resumed = desk.send_as(&ada, resume, json!({ "id": id })).await;
    assert!(resumed.errors.is_empty(), "{:?}", resumed.errors);
    let log = log(&desk, json!({ "first": 2 })).await;
    let paused = json!({
        "at": "2026-03-01T12:00:01Z", "actor": "ada", "source": "192.0.2.7",
        "namespace": "default", "action": "schedule.pause", "subject": "nightly",
        "reason": "flood", "before": { "paused": false, "reason": null },
        "after": { "paused": true, "until": null }
    });
    assert_eq!(log[1], paused);
    assert_eq!(log[0]["reason"], "the water is gone");
    assert_eq!(
        (&log[0]["action"], &log[0]["before"]["paused"]),
        (&json!("schedule.resume"), &json!(true))
    );
}

async fn the_log_is_paged_and_narrowed(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("one", "0 2 * * *").await;
    desk.clock.advance(std::time::Duration::from_secs(3_600));
    let two = desk.schedule("two", "0 2 * * *").await;
    desk.clock.advance(std::time::Duration::from_secs(3_600));
    desk.account("ada", None).await;
    desk.clock.advance(std::time::Duration::from_secs(1));
    desk.trigger(&two).await;
    let all = log(&desk, json!({})).await;
    assert_eq!(actions(&all)[..2], ["schedule.trigger", "user.add"], "{all:?}");

    let mut paged = Vec::new();
    let mut after = Value::Null;
    loop {
        let answer = desk.ask(LOG, json!({ "first": 2, "after": after })).await;
        let page = &answer["auditEvents"];
        paged.extend(page["nodes"].as_array().unwrap().clone());
        if page["pageInfo"]["hasNextPage"] == false {
            break;
        }
        after = page["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(paged, all);

    let limit = "mutation { limitWorkerQueue(name: \"gpu\", maxJobs: 3) { queue { name } } }";
    desk.ask(limit, json!({})).await;
    for (filter, expected) in [
        (json!({ "kind": "user" }), vec!["user.add"]),
        (json!({ "kind": "worker_queue" }), vec!["worker_queue.limit"]),
        (json!({ "action": "schedule.create", "subject": "two" }), vec!["schedule.create"]),
        (json!({ "actor": "nobody" }), vec![]),
        (
            json!({ "after": "2026-03-01T12:30:00Z", "before": "2026-03-01T13:30:00Z",
                "kind": "schedule" }),
            vec!["schedule.create"],
        ),
        // A wildcard character matches only itself.
        (json!({ "actor": "%" }), vec![]),
        (json!({ "subject": "tw_" }), vec![]),
        (json!({ "kind": "sche_ule" }), vec![]),
    ] {
        let found = log(&desk, json!({ "filter": filter })).await;
        assert_eq!(actions(&found), expected, "{filter}");
    }
    let refused = desk.refused(LOG, json!({ "filter": { "kind": "sche%" } })).await;
    assert_eq!(refused["extensions"]["field"], "kind", "{refused}");
}

async fn an_administrator_of_a_namespace_reads_what_concerns_it(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("theirs", "0 2 * * *").await;
    desk.ask("mutation { createNamespace(name: \"mine\") { namespace { id } } }", json!({})).await;
    let (_, ada) = desk.account("ada", None).await;
    desk.clock.advance(std::time::Duration::from_secs(1));
    let join = "mutation { setMembership(input: {
        user: \"ada\", namespace: \"mine\", role: ADMIN, reason: \"hired\"
    }) { membership { role } } }";
    desk.ask(join, json!({})).await;
    let ada = desk.person(ada).await;
    let mine = desk.send_as(&ada, LOG, json!({ "namespace": "mine" })).await;
    let mine = mine.data.into_json().unwrap();
    let mine = mine["auditEvents"]["nodes"].as_array().unwrap();
    assert_eq!(actions(mine), ["membership.set", "namespace.create"]);
    assert_eq!(mine[0]["reason"], "hired");
    let foreign = desk.code_for(&ada, LOG, json!({ "namespace": "default" })).await;
    assert_eq!(foreign, "NOT_FOUND");
    assert_eq!(desk.code_for(&ada, LOG, json!({})).await, "FORBIDDEN");
}

async fn no_secret_is_in_the_log(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let input = json!({
        "name": "call",
        "timing": { "expressions": ["0 2 * * *"] },
        "context": { "api_key": "hunter2-context" },
        "task": { "target": { "http": {
            "url": "https://example.org/?row=hunter2-url",
            "headers": [{ "name": "X-Account", "value": "hunter2-header" }],
        } } },
    });
    desk.ask(super::desk::CREATE, json!({ "input": input })).await;
    let add = "mutation { createUser(input: { name: \"ada\", password: \"hunter2-password\" })
        { user { id } } }";
    desk.clock.advance(std::time::Duration::from_secs(1));
    desk.ask(add, json!({})).await;
    desk.clock.advance(std::time::Duration::from_secs(1));
    let ids = desk.ask("{ users { nodes { id } } }", json!({})).await;
    let id = &ids["users"]["nodes"][0]["id"];
    let reset = "mutation ($id: UUID!) {
        resetPassword(userId: $id, password: \"hunter2-another\", idempotencyKey: \"k\")
        { user { id } } }";
    desk.ask(reset, json!({ "id": id })).await;
    let log = log(&desk, json!({})).await;
    assert_eq!(actions(&log)[..2], ["user.passwd", "user.add"]);
    assert!(!Value::from(log).to_string().contains("hunter2"));
}
