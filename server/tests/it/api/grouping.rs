//! Concurrency groups, and the policies that schedules name.

use entity::{audit_event, concurrency_group};
use sea_orm::{EntityTrait, PaginatorTrait};
use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_group_is_made_changed_listed_and_deleted,
    a_group_that_schedules_name_is_not_deleted,
    a_schedule_names_its_group_its_buffer_and_its_priority,
    a_module_declares_groups_and_owns_them,
);

const MAKE: &str = "mutation($name: String!, $max: Int!) {
    createConcurrencyGroup(input: { name: $name, maxRuns: $max }) { group { id name maxRuns } } }";
const CHANGE: &str = "mutation($id: UUID!, $version: Int! = 1, $name: String, $max: Int) {
    updateConcurrencyGroup(input: {
        id: $id, expectedVersion: $version, name: $name, maxRuns: $max }) {
        group { name maxRuns version } } }";
const DELETE: &str = "mutation($id: UUID!, $version: Int) {
    deleteConcurrencyGroup(id: $id, expectedVersion: $version) { id } }";
const LIST: &str =
    "{ concurrencyGroups { id name namespace maxRuns module running waiting schedules } }";
const DEPLOY: &str = "mutation($source: String!) { deployModule(source: $source) { changes { action kind name detail } } }";

async fn make(desk: &Desk, name: &str, max: i64) -> String {
    let made = desk.ask(MAKE, json!({ "name": name, "max": max })).await;
    made["createConcurrencyGroup"]["group"]["id"].as_str().unwrap().to_owned()
}

fn schedule(change: Value) -> Value {
    let mut input = json!({
        "name": "nightly",
        "timing": { "expressions": ["@daily"] },
        "task": { "target": { "noop": {} } },
    });
    for (key, value) in change.as_object().unwrap() {
        input[key] = value.clone();
    }
    json!({ "input": input })
}

async fn a_group_is_made_changed_listed_and_deleted(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = make(&desk, "reports", 3).await;
    make(&desk, "Imports", 1).await;
    let changed = desk.ask(CHANGE, json!({ "id": id, "max": 5 })).await;
    let group = &changed["updateConcurrencyGroup"]["group"];
    assert_eq!(group, &json!({ "name": "reports", "maxRuns": 5, "version": 2 }));
    for stale in [CHANGE, DELETE] {
        let error = desk.refused(stale, json!({ "id": id, "version": 1, "max": 6 })).await;
        let told = &error["extensions"];
        assert_eq!(told["code"], "CONFLICT", "{error}");
        assert_eq!(
            (&told["expectedVersion"], &told["currentVersion"]),
            (&json!(1), &json!(2)),
            "{error}"
        );
    }
    let listed = desk.ask(LIST, json!({})).await;
    assert_eq!(listed["concurrencyGroups"][0]["name"], "Imports");
    assert_eq!(
        listed["concurrencyGroups"][1],
        json!({
            "id": id, "name": "reports", "namespace": "default", "maxRuns": 5, "module": null,
            "running": 0, "waiting": 0, "schedules": 0,
        })
    );
    for (name, max, field) in [
        ("no spaces", 1, "name"),
        ("a", 0, "maxRuns"),
        ("a", 10_001, "maxRuns"),
        ("reports", 1, "name"),
    ] {
        let error = desk.refused(MAKE, json!({ "name": name, "max": max })).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(error["extensions"]["field"], field, "{error}");
    }
    let error = desk.refused(CHANGE, json!({ "id": id, "version": 2, "name": "Imports" })).await;
    assert_eq!(error["extensions"]["field"], "name", "{error}");
    desk.ask(DELETE, json!({ "id": id })).await;
    let read = desk.database.store.read();
    assert_eq!(concurrency_group::Entity::find().count(read).await.unwrap(), 1);
    let entries = audit_event::Entity::find().all(read).await.unwrap();
    let mut actions: Vec<_> = entries.iter().map(|entry| entry.action.as_str()).collect();
    actions.sort_unstable();
    assert_eq!(actions, ["group.create", "group.create", "group.delete", "group.update"]);
    let error = desk.refused(DELETE, json!({ "id": id })).await;
    assert_eq!(error["extensions"]["code"], "NOT_FOUND");
}

async fn a_group_that_schedules_name_is_not_deleted(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = make(&desk, "reports", 3).await;
    let made = desk.ask(CREATE, schedule(json!({ "group": "reports" }))).await;
    let error = desk.refused(DELETE, json!({ "id": id })).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT");
    assert!(error["message"].as_str().unwrap().contains("1 schedules"), "{error}");
    let remove = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
    desk.ask(remove, json!({ "id": made["createSchedule"]["schedule"]["id"] })).await;
    desk.ask(DELETE, json!({ "id": id })).await;
}

async fn a_schedule_names_its_group_its_buffer_and_its_priority(database: TestDatabase) {
    let desk = Desk::open(database).await;
    make(&desk, "reports", 3).await;
    let change = json!({ "group": "reports", "priority": 10, "overlap": "BUFFER_ALL" });
    let made = desk.ask(CREATE, schedule(change)).await;
    let id = made["createSchedule"]["schedule"]["id"].clone();
    let query = "query($id: UUID!) { schedule(id: $id) { overlap bufferLimit group priority
        versions { nodes { change snapshot } } } }";
    let found = desk.ask(query, json!({ "id": id })).await;
    let found = &found["schedule"];
    assert_eq!(
        [&found["overlap"], &found["bufferLimit"], &found["group"], &found["priority"]],
        [&json!("BUFFER_ALL"), &json!(100), &json!("reports"), &json!(10)]
    );
    assert_eq!(found["versions"]["nodes"][0]["snapshot"]["group"], "reports");

    let edit = "mutation($input: UpdateScheduleInput!) { updateSchedule(input: $input) {
        schedule { overlap bufferLimit group priority } } }";
    let input =
        json!({ "id": id, "expectedVersion": 1, "overlap": "SKIP", "group": null, "priority": -1 });
    let edited = desk.ask(edit, json!({ "input": input })).await;
    assert_eq!(
        edited["updateSchedule"]["schedule"],
        json!({ "overlap": "SKIP", "bufferLimit": null, "group": null, "priority": -1 })
    );
    let found = desk.ask(query, json!({ "id": id })).await;
    assert_eq!(
        found["schedule"]["versions"]["nodes"][0]["change"],
        "overlap: `buffer_all` -> `skip`; buffer limit: `100` -> none; \
         group: `reports` -> none; priority: `10` -> `-1`"
    );
    let trigger = "mutation($id: UUID!) { triggerSchedule(id: $id) { run { group priority } } }";
    let run = desk.ask(trigger, json!({ "id": id })).await;
    assert_eq!(run["triggerSchedule"]["run"], json!({ "group": null, "priority": -1 }));
}

async fn a_module_declares_groups_and_owns_them(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let source = "module: m\ngroups: { reports: 2 }\nschedules:\n  a:\n    when: '@hourly'\n    \
        overlap: buffer_all\n    buffer_limit: 7\n    group: reports\n    priority: -3\n    \
        task: { target: { noop: {} } }\n";
    let changes = async |source: &str| {
        let answer = desk.ask(DEPLOY, json!({ "source": source })).await;
        let changes = answer["deployModule"]["changes"].as_array().unwrap().clone();
        let told = |change: &Value| format!("{} {}", change["action"], change["kind"]);
        changes.iter().map(told).collect::<Vec<_>>().join(", ").replace('"', "")
    };
    assert_eq!(changes(source).await, "CREATE group, CREATE schedule");
    assert_eq!(changes(source).await, "UNCHANGED group, UNCHANGED schedule");
    let query = "{ schedule(name: \"a\") { overlap bufferLimit group priority }
        concurrencyGroups { id module maxRuns schedules } }";
    let found = desk.ask(query, json!({})).await;
    assert_eq!(
        found["schedule"],
        json!({ "overlap": "BUFFER_ALL", "bufferLimit": 7, "group": "reports", "priority": -3 })
    );
    let group = &found["concurrencyGroups"][0];
    assert_eq!(
        (&group["module"], &group["maxRuns"], &group["schedules"]),
        (&json!("m"), &json!(2), &json!(1))
    );
    for query in [CHANGE, DELETE] {
        let error = desk.refused(query, json!({ "id": group["id"] })).await;
        assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
    }
    let wider = source.replace("reports: 2", "reports: 4");
    assert_eq!(changes(&wider).await, "UPDATE group, UNCHANGED schedule");
    for (bad, field) in [
        (source.replace("reports: 2", "reports: 0"), "groups.reports"),
        (source.replace("group: reports", "group: missing"), "schedules.a.group"),
        (source.replace("priority: -3", "priority: -101"), "schedules.a.priority"),
        (source.replace("buffer_all", "buffer_one"), "schedules.a.buffer_limit"),
    ] {
        let error = desk.refused(DEPLOY, json!({ "source": bad })).await;
        assert_eq!(error["extensions"]["field"], field, "{error}");
    }
    // A schedule outside the module keeps the group from being deleted.
    let made = desk.ask(CREATE, schedule(json!({ "group": "reports" }))).await;
    let error = desk.refused(DEPLOY, json!({ "source": "module: m" })).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
    let remove = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
    desk.ask(remove, json!({ "id": made["createSchedule"]["schedule"]["id"] })).await;
    assert_eq!(changes("module: m").await, "DELETE schedule, DELETE workflow, DELETE group");
}
