use entity::{audit_event, schedule_version, workflow_version};
use sea_orm::{EntityTrait, QueryOrder};
use serde_json::json;

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_secret_is_stored_and_never_shown,
    a_secret_that_is_not_set_is_told_when_what_asks_for_it_is_saved,
);

async fn a_secret_is_stored_and_never_shown(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let headers = json!([{ "name": "Authorization", "value": "Bearer hunter2" }, { "name": "Accept", "value": "*/*" }]);
    let http = json!({
        "url": "https://example.org/hook", "headers": headers,
        "signingSecret": "whsec_aHVudGVyMmh1bnRlcjJodW50ZXIyaHVudGVyMg==",
    });
    let input = json!({
        "name": "hook", "timing": { "expressions": ["@daily"] }, "task": { "target": { "http": http } },
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = &made["createSchedule"]["schedule"]["id"];
    let query = "query($id: UUID!) { schedule(id: $id) { versions { nodes { snapshot } }
        workflow { tasks { target { ... on HttpTarget { signed headers { name value } } } } } } }";
    let answer = desk.ask(query, json!({ "id": id })).await;
    let target = &answer["schedule"]["workflow"]["tasks"][0]["target"];
    assert_eq!(
        target["headers"],
        json!([{ "name": "Accept", "value": "*/*" }, { "name": "Authorization", "value": "***" }])
    );
    assert_eq!(target["signed"], true);

    // A form gives back what it saw: the secrets stay.
    let http = json!({ "url": "https://example.org/hook?v=2", "headers": target["headers"] });
    let edit = json!({ "id": id, "expectedVersion": 1, "task": { "target": { "http": http } } });
    let update = "mutation($input: UpdateScheduleInput!) { updateSchedule(input: $input) { schedule { version } } }";
    desk.ask(update, json!({ "input": edit })).await;

    let read = desk.database.store.read();
    let versions = workflow_version::Entity::find()
        .order_by_desc(workflow_version::Column::Version)
        .all(read)
        .await
        .unwrap();
    let stored = versions[0].definition.to_string();
    assert!(stored.contains("v=2") && stored.contains("Bearer hunter2"), "{stored}");
    assert!(stored.contains("whsec_"), "{stored}");
    let audited = audit_event::Entity::find().all(read).await.unwrap();
    let history = schedule_version::Entity::find().all(read).await.unwrap();
    for text in [format!("{audited:?}"), format!("{history:?}"), answer.to_string()] {
        assert!(!text.contains("hunter2") && !text.contains("whsec_"), "{text}");
    }
}

async fn a_secret_that_is_not_set_is_told_when_what_asks_for_it_is_saved(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let set =
        "mutation($name: String!) { setSecret(input: { name: $name, value: \"open-sesame\" }) {
        secret { name } } }";
    desk.ask(set, json!({ "name": "there" })).await;
    let target = |url: &str, token: &str| {
        let headers = json!([{ "name": "X-Token", "value": token }]);
        json!({ "http": { "url": url, "headers": headers } })
    };
    let hook = target("https://example.org/{{ secrets.away }}", "{{ secrets.there }}");
    let input = json!({
        "name": "hook", "timing": { "expressions": ["@daily"] }, "task": { "target": hook },
    });
    let create = "mutation($input: CreateScheduleInput!) { createSchedule(input: $input) {
        schedule { id } warnings { code message field } } }";
    let made = desk.ask(create, json!({ "input": input })).await;
    let warnings = made["createSchedule"]["warnings"].as_array().unwrap();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!(warning["code"], "secret_not_set");
    assert_eq!(warning["field"], "task.target.http.url");
    let told = warning["message"].as_str().unwrap();
    assert!(
        told.starts_with("the secret `away` that the task `main` asks for is not set"),
        "{told}"
    );

    // An edit that keeps the task says nothing of it, one of the task does.
    let id = &made["createSchedule"]["schedule"]["id"];
    let update = "mutation($input: UpdateScheduleInput!) { updateSchedule(input: $input) {
        warnings { code field } } }";
    let note = json!({ "id": id, "expectedVersion": 1, "note": "x" });
    let answer = desk.ask(update, json!({ "input": note })).await;
    assert_eq!(answer["updateSchedule"]["warnings"], json!([]));
    let hook = target("https://example.org/", "{{ secrets.gone }}{{ secrets.away }}");
    let task = json!({ "id": id, "expectedVersion": 2, "task": { "target": hook } });
    let answer = desk.ask(update, json!({ "input": &task })).await;
    let field = "task.target.http.headers.X-Token";
    let warning = json!({ "code": "secret_not_set", "field": field });
    assert_eq!(answer["updateSchedule"]["warnings"], json!([warning, warning]));
    // As long as it is so, also of a task that is saved as it is.
    let same = json!({ "id": id, "expectedVersion": 3, "task": task["task"] });
    let answer = desk.ask(update, json!({ "input": same })).await;
    assert_eq!(answer["updateSchedule"]["warnings"], json!([warning, warning]));

    let tasks = json!([
        { "name": "first", "target": { "noop": {} } },
        { "name": "second", "needs": ["first"], "target": target("https://example.org/{{ secrets.gone }}", "x") },
    ]);
    let create = "mutation($input: CreateWorkflowInput!) { createWorkflow(input: $input) {
        workflow { id } warnings { message field } } }";
    let made = desk.ask(create, json!({ "input": { "name": "flow", "tasks": tasks } })).await;
    let warnings = &made["createWorkflow"]["warnings"];
    assert_eq!(warnings[0]["field"], "tasks[1].target.http.url", "{warnings}");
    assert!(warnings[0]["message"].as_str().unwrap().contains("`second`"), "{warnings}");

    // Of a module before it is deployed.
    let source = "module: m\nschedules:\n  tick:\n    when: '@daily'\n    task:\n      target:\n        \
                  http: { url: 'https://example.org/{{ secrets.gone }}' }\n";
    let deploy = "mutation($source: String!, $dryRun: Boolean!) {
        deployModule(source: $source, dryRun: $dryRun) { changes { name warnings { code field } } } }";
    let warnings = json!([{ "code": "secret_not_set", "field": "task.target.http.url" }]);
    let expected = json!([{ "name": "tick", "warnings": warnings }]);
    for is_dry in [true, false, false] {
        let told = desk.ask(deploy, json!({ "source": source, "dryRun": is_dry })).await;
        assert_eq!(told["deployModule"]["changes"], expected);
    }
    // Set, it is told no more.
    desk.ask(set, json!({ "name": "gone" })).await;
    let other = source.replace("example.org", "example.com");
    let told = desk.ask(deploy, json!({ "source": other, "dryRun": false })).await;
    assert_eq!(told["deployModule"]["changes"][0]["warnings"], json!([]));
}
