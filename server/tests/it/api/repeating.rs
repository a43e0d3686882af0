use std::time::Duration;

use carillon::access::Viewer;
use entity::{run, schedule, user::Role};
use sea_orm::{EntityTrait, PaginatorTrait};
use serde_json::json;

use super::{
    desk::{CREATE, Desk},
    problems::failed,
    walking::{member_of, namespace},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_call_repeated_with_its_key_is_answered_and_not_done_again,
    two_calls_at_once_with_one_key_are_one_call,
    a_refused_call_leaves_its_key_free,
    a_repeated_deployment_is_answered_before_any_other_work,
    a_call_repeated_after_access_was_lost_shows_nothing,
    a_bulk_order_repeated_after_access_was_lost_shows_no_sample,
    an_acknowledgement_is_repeated_after_its_end,
);

fn input(name: &str, key: &str) -> serde_json::Value {
    let input = json!({
        "name": name, "timing": { "expressions": ["@at 0"] }, "task": { "target": { "noop": {} } },
    });
    json!({ "input": input, "key": key })
}

async fn a_call_repeated_with_its_key_is_answered_and_not_done_again(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let first = desk.ask(CREATE, input("nightly", "k-1")).await;
    let second = desk.ask(CREATE, input("nightly", "k-1")).await;
    assert_eq!(first, second, "the warnings too");
    let error = desk.refused(CREATE, input("other", "k-1")).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT");
    let read = desk.database.store.read();
    assert_eq!(schedule::Entity::find().count(read).await.unwrap(), 1);
    let error = desk.refused(CREATE, input("other", "no spaces please")).await;
    assert_eq!(error["extensions"]["field"], "idempotencyKey");
}

async fn two_calls_at_once_with_one_key_are_one_call(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@daily").await;
    let query =
        "mutation($id: UUID!) { triggerSchedule(id: $id, idempotencyKey: \"k\") { run { id } } }";
    let call = || desk.ask(query, json!({ "id": id }));
    let (one, two, three) = tokio::join!(call(), call(), call());
    assert_eq!(one, two);
    assert_eq!(two, three);
    let read = desk.database.store.read();
    assert_eq!(run::Entity::find().count(read).await.unwrap(), 1);
}

async fn a_refused_call_leaves_its_key_free(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.refused(CREATE, input("not a name", "k-1")).await;
    desk.ask(CREATE, input("a-name", "k-1")).await;
}

async fn a_repeated_deployment_is_answered_before_any_other_work(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let deploy = "mutation($source: String!) {
        deployModule(source: $source, idempotencyKey: \"k\") {
            module changes { action kind name } } }";
    let source = "module: demo\nschedules:\n  nightly:\n    when: \"@daily\"\n    \
        task: { target: { noop: {} } }\n";
    let first = desk.ask(deploy, json!({ "source": source })).await;
    // SQLite has one writer, so a call that needed a transaction would never return.
    let writer = desk.database.store.begin().await.unwrap();
    let second = desk.ask(deploy, json!({ "source": source })).await;
    assert_eq!(first, second);
    let other = format!("{source}calendars: {{}}\n");
    let error = desk.refused(deploy, json!({ "source": other })).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
    writer.rollback().await.unwrap();
}

async fn a_call_repeated_after_access_was_lost_shows_nothing(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.ask("mutation { createNamespace(name: \"other\") { namespace { id } } }", json!({})).await;
    let tick = desk.schedule("tick", "@hourly").await;
    let before = member_of(namespace(&desk, "default").await, Role::Editor);
    let after = member_of(namespace(&desk, "other").await, Role::Editor);
    let variables = json!({ "tick": tick });
    for call in [
        "createBackfill(scheduleId: $tick, from: \"2026-03-01T09:00:00Z\",
            to: \"2026-03-01T12:00:00Z\", reason: \"an outage\", idempotencyKey: \"k-1\") {
            backfill { id schedule { name } } }",
        "planMaintenance(input: { title: \"Upgrade\", startsAt: \"2026-03-02T12:00:00Z\",
            endsAt: \"2026-03-02T14:00:00Z\" }, idempotencyKey: \"k-2\") { window { title } }",
        "limitWorkerQueue(name: \"gpu\", maxJobs: 3, idempotencyKey: \"k-3\") { queue { name } }",
        "setHealthBudget(tag: \"billing\", limits: { missed: 0 }, idempotencyKey: \"k-4\") {
            budget { tag } }",
    ] {
        // A document must use the variables that it declares.
        let declared = if call.contains("$tick") { "($tick: UUID!)" } else { "" };
        let query = format!("mutation {declared} {{ {call} }}");
        for _ in 0..2 {
            assert_eq!(desk.code_for(&before, &query, variables.clone()).await, "", "{call}");
        }
        assert_eq!(desk.code_for(&after, &query, variables.clone()).await, "NOT_FOUND", "{call}");
    }
}

async fn a_bulk_order_repeated_after_access_was_lost_shows_no_sample(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let make = "mutation { createNamespace(name: \"west\") { namespace { id } } }";
    desk.ask(make, json!({})).await;
    let mut wanted = input("tick", "k-1");
    wanted["input"]["namespace"] = "west".into();
    wanted["input"]["timing"] = json!({ "expressions": ["@hourly"] });
    desk.ask(CREATE, wanted).await;
    let order = "mutation { pauseSchedules(which: { namespace: \"west\", search: \"name:tick\" },
        reason: \"flood\", idempotencyKey: \"k-2\") { done sample { name } } }";
    let answer = async |who: &Viewer| {
        let response = desk.send_as(who, order, json!({})).await;
        assert!(response.errors.is_empty(), "{:?}", response.errors);
        let mut data = response.data.into_json().unwrap();
        data["pauseSchedules"].take()
    };
    let before = member_of(namespace(&desk, "west").await, Role::Operator);
    assert_eq!(answer(&before).await, json!({ "done": 1, "sample": [{ "name": "tick" }] }));
    // Another namespace gets the name.
    let rename =
        "mutation { renameNamespace(name: \"west\", newName: \"old\") { namespace { id } } }";
    desk.ask(rename, json!({})).await;
    desk.ask(make, json!({})).await;
    let after = member_of(namespace(&desk, "west").await, Role::Operator);
    assert_eq!(answer(&after).await, json!({ "done": 1, "sample": [] }));
}

async fn an_acknowledgement_is_repeated_after_its_end(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("tick", "@hourly").await;
    failed(&desk, &schedule, "no disk", 10).await;
    let problem = desk.ask("{ problems { id } }", json!({})).await["problems"][0]["id"].take();
    let acknowledge = "mutation($schedule: UUID!, $id: UUID!) {
        acknowledgeProblem(scheduleId: $schedule, id: $id, until: \"2026-03-01T13:00:00Z\",
            idempotencyKey: \"k\") { acknowledgement { by until } } }";
    let call = json!({ "schedule": schedule, "id": problem });
    let first = desk.ask(acknowledge, call.clone()).await;
    desk.clock.pass(Duration::from_secs(2 * 3_600));
    assert_eq!(desk.ask(acknowledge, call).await, first);
}
