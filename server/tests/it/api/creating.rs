use carillon::target::{CommandPolicy, Policy};
use entity::{audit_event, schedule, schedule_version, workflow};
use sea_orm::{EntityTrait, PaginatorTrait};
use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_schedule_is_made_with_its_workflow_its_history_and_its_audit_entry,
    a_name_that_exists_is_refused_and_changes_nothing,
    a_timing_that_never_fires_is_saved_with_a_warning,
);

fn input(change: Value) -> Value {
    let mut input = json!({
        "name": "nightly",
        "timing": { "expressions": ["0 2 * * *"], "zone": "Europe/Berlin" },
        "task": { "target": { "noop": { "note": "rehearsal" } } },
    });
    for (key, value) in change.as_object().unwrap() {
        input[key] = value.clone();
    }
    json!({ "input": input })
}

async fn a_schedule_is_made_with_its_workflow_its_history_and_its_audit_entry(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let made = desk.ask(CREATE, input(json!({ "tags": ["team/data"] }))).await;
    let schedule = &made["createSchedule"]["schedule"];
    assert_eq!(schedule["state"], "ACTIVE");
    assert_eq!(schedule["nextFireAt"], "2026-03-02T01:00:00Z");

    let query = "query($id: UUID!) { schedule(id: $id) {
        namespace tags createdAt
        workflow { name version tasks { name timeoutSeconds target { ... on NoopTarget { note } } } }
        versions { nodes { version by change snapshot } }
        nextFires(count: 2) { at local offset kind }
        tally { succeeded } liveRuns lastRun { id } } }";
    let answer = desk.ask(query, json!({ "id": schedule["id"] })).await;
    let found = &answer["schedule"];
    assert_eq!(found["namespace"], "default");
    assert_eq!(found["createdAt"], "2026-03-01T12:00:00Z");
    assert_eq!(found["workflow"]["name"], "nightly");
    assert_eq!(found["workflow"]["tasks"][0]["target"]["note"], "rehearsal");
    let version = &found["versions"]["nodes"][0];
    assert_eq!((&version["version"], &version["by"]), (&json!(1), &json!("ada")));
    assert_eq!(version["snapshot"]["timing"]["zone"], "Europe/Berlin");
    assert_eq!(
        found["nextFires"][0],
        json!({ "at": "2026-03-02T01:00:00Z", "local": "2026-03-02T02:00:00", "offset": "+01:00", "kind": "NORMAL" })
    );

    let read = desk.database.store.read();
    let entries = audit_event::Entity::find().all(read).await.unwrap();
    let mut actions: Vec<_> = entries.iter().map(|entry| entry.action.as_str()).collect();
    actions.sort_unstable();
    assert_eq!(actions, ["schedule.create", "workflow.create"]);
    assert!(entries.iter().all(|entry| entry.actor == "ada" && entry.source == "test"));
    let row = schedule::Entity::find().one(read).await.unwrap().unwrap();
    assert!(row.changed >= 0 && (0..256).contains(&row.shard));
    assert_eq!(row.anchor_at.utc(), super::desk::noon());
}

async fn a_name_that_exists_is_refused_and_changes_nothing(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("nightly", "@daily").await;
    let workflow = input(json!({ "task": null, "workflow": "nightly" }));
    let error = desk.refused(CREATE, workflow).await;
    assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT");
    assert_eq!(error["extensions"]["field"], "name");
    assert_eq!(error["extensions"]["value"], "nightly");
    let read = desk.database.store.read();
    assert_eq!(schedule::Entity::find().count(read).await.unwrap(), 1);
    assert_eq!(schedule_version::Entity::find().count(read).await.unwrap(), 1);
    assert_eq!(workflow::Entity::find().count(read).await.unwrap(), 1);
}

async fn a_timing_that_never_fires_is_saved_with_a_warning(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let made = desk.ask(CREATE, input(json!({ "timing": { "expressions": ["@at 0"] } }))).await;
    let made = &made["createSchedule"];
    assert_eq!(made["warnings"][0]["code"], "never_fires");
    assert_eq!(made["schedule"]["state"], "FINISHED");
    assert_eq!(made["schedule"]["nextFireAt"], Value::Null);
    assert_eq!(made["schedule"]["timing"]["warnings"][0]["code"], "never_fires");
}

#[tokio::test]
async fn each_bad_value_is_refused_with_its_field() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let long = "x".repeat(300_000);
    let task = |target: Value| json!({ "task": { "target": target } });
    let cases = [
        ("name", json!({ "name": "no spaces" })),
        ("name", json!({ "name": "" })),
        ("note", json!({ "note": long })),
        ("tags[1]", json!({ "tags": ["ok", "not ok"] })),
        ("timing.expressions[0]", json!({ "timing": { "expressions": ["0 2 * *"] } })),
        ("timing.expressions[0]", json!({ "timing": { "expressions": ["@every 0s"] } })),
        ("timing.zone", json!({ "timing": { "expressions": ["@daily"], "zone": "Mars/Olympus" } })),
        (
            "timing.jitterSeconds",
            json!({ "timing": { "expressions": ["@daily"], "jitterSeconds": -1 } }),
        ),
        ("timing.expressions", json!({ "timing": { "expressions": [] } })),
        ("context", json!({ "context": [1, 2] })),
        ("context", json!({ "context": { "text": long } })),
        ("misfire.max", json!({ "misfire": { "max": 0 } })),
        ("startDeadlineSeconds", json!({ "startDeadlineSeconds": 0 })),
        ("bufferLimit", json!({ "bufferLimit": 5 })),
        ("bufferLimit", json!({ "overlap": "ALLOW", "bufferLimit": 5 })),
        ("bufferLimit", json!({ "overlap": "BUFFER_ONE", "bufferLimit": 1 })),
        ("bufferLimit", json!({ "overlap": "BUFFER_ALL", "bufferLimit": 0 })),
        ("bufferLimit", json!({ "overlap": "BUFFER_ALL", "bufferLimit": 1001 })),
        ("priority", json!({ "priority": 101 })),
        ("priority", json!({ "priority": -101 })),
        ("group", json!({ "group": "no spaces" })),
        ("group", json!({ "group": "missing" })),
        ("workflow", json!({ "workflow": "both" })),
        ("workflow", json!({ "task": null })),
        ("workflow", json!({ "task": null, "workflow": "missing" })),
        ("task.target.http.url", task(json!({ "http": { "url": "ftp://example.org" } }))),
        (
            "task.target.http.method",
            task(json!({ "http": { "url": "https://example.org", "method": "FETCH" } })),
        ),
        (
            "task.timeoutSeconds",
            json!({ "task": { "target": { "noop": {} }, "timeoutSeconds": -1 } }),
        ),
        (
            "task.timeoutSeconds",
            json!({ "task": { "target": { "noop": {} }, "timeoutSeconds": 7.5 * 86_400.0 } }),
        ),
        (
            "task.retry.maxAttempts",
            json!({ "task": { "target": { "noop": {} }, "retry": { "maxAttempts": 101 } } }),
        ),
    ];
    for (field, change) in cases {
        let error = desk.refused(CREATE, input(change.clone())).await;
        let extensions = &error["extensions"];
        assert_eq!(extensions["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(extensions["field"], field, "{error}");
        assert!(extensions["value"].as_str().unwrap().chars().count() <= 64, "{error}");
        assert!(!extensions["help"].as_str().unwrap().is_empty(), "{error}");
    }
    let read = desk.database.store.read();
    assert_eq!(schedule::Entity::find().count(read).await.unwrap(), 0);
    assert_eq!(audit_event::Entity::find().count(read).await.unwrap(), 0);
}

#[tokio::test]
async fn a_bad_expression_is_refused_with_the_place() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let timing = json!({ "timing": { "expressions": ["@daily", "0 25 * * *"] } });
    let error = desk.refused(CREATE, input(timing)).await;
    assert_eq!(error["extensions"]["field"], "timing.expressions[1]");
    assert_eq!(
        (&error["extensions"]["start"], &error["extensions"]["end"]),
        (&json!(2), &json!(4))
    );

    let query = "{ schedulePreview(timing: { expressions: [\"0 25 * * *\"] }) {
        description fires { at } problem { field value start end problem help } } }";
    let answer = desk.ask(query, json!({})).await;
    let preview = &answer["schedulePreview"];
    assert_eq!(preview["description"], Value::Null);
    assert_eq!(preview["problem"]["field"], "timing.expressions[0]");
    assert_eq!(preview["problem"]["start"], 2);
}

#[tokio::test]
async fn a_preview_shows_the_fires_of_a_timing() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let query = "{ schedulePreview(
        timing: { expressions: [\"30 2 * * *\"], zone: \"Europe/Berlin\" }
        from: \"2026-03-28T12:00:00Z\", count: 2
    ) { description firesPerYear fires { at local offset kind } problem { field } } }";
    let answer = desk.ask(query, json!({})).await;
    let preview = &answer["schedulePreview"];
    assert_eq!(preview["problem"], Value::Null);
    assert_eq!(preview["firesPerYear"], 365);
    assert_eq!(
        preview["fires"][0],
        json!({ "at": "2026-03-29T01:00:00Z", "local": "2026-03-29T03:00:00", "offset": "+02:00", "kind": "SHIFTED" })
    );
}

#[tokio::test]
async fn values_of_h_are_only_an_example_without_a_schedule() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let query = "query($id: UUID) { schedulePreview(
        timing: { expressions: [\"H H * * *\"] }, scheduleId: $id
    ) { warnings { code } } }";
    let new = desk.ask(query, json!({})).await;
    assert_eq!(new["schedulePreview"]["warnings"], json!([{ "code": "hashed_example" }]));
    let id = desk.schedule("spread", "H H * * *").await;
    let known = desk.ask(query, json!({ "id": id })).await;
    assert_eq!(known["schedulePreview"]["warnings"], json!([]));
}

#[tokio::test]
async fn a_command_is_refused_where_commands_are_off_and_the_setting_named() {
    let database = TestDatabase::sqlite().await;
    let desk = Desk::with(database, Policy::default(), |store| store).await;
    let task = json!({ "task": { "target": { "command": { "script": "true" } } } });
    let error = desk.refused(CREATE, input(task)).await;
    assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT");
    assert!(error["extensions"]["help"].as_str().unwrap().contains("allow_commands"), "{error}");
}

#[tokio::test]
async fn a_command_is_refused_outside_of_the_namespaces_that_are_allowed() {
    let namespaces = Some(vec!["operations".to_owned()]);
    let command = CommandPolicy { namespaces, ..CommandPolicy::default() };
    let policy = Policy { commands: true, command, ..Policy::default() };
    let desk = Desk::with(TestDatabase::sqlite().await, policy, |store| store).await;
    let make = "mutation { createNamespace(name: \"operations\") { namespace { name } } }";
    desk.ask(make, json!({})).await;
    let task = json!({ "target": { "command": { "script": "true" } } });
    let error = desk.refused(CREATE, input(json!({ "task": task }))).await;
    assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT");
    assert_eq!(error["extensions"]["field"], "task.target.command");
    assert!(error["message"].as_str().unwrap().contains("'default' may not run"), "{error}");
    let workflow = "mutation($input: CreateWorkflowInput!) {
        createWorkflow(input: $input) { workflow { id } } }";
    let tasks = json!([{ "name": "one", "target": task["target"] }]);
    let error = desk.refused(workflow, json!({ "input": { "name": "w", "tasks": tasks } })).await;
    assert_eq!(error["extensions"]["field"], "tasks[0].target.command", "{error}");
    desk.ask(CREATE, input(json!({ "task": task, "namespace": "operations" }))).await;
}
