use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_rollback_is_a_new_version_with_the_old_definition,
    a_rollback_brings_back_the_task_of_the_schedule,
    a_rollback_across_a_rename_brings_back_the_name_and_the_task,
    a_rollback_that_cannot_be_is_refused_and_changes_nothing,
    versions_are_read_from_any_of_them_on,
);

const UPDATE: &str = "mutation($input: UpdateScheduleInput!) { updateSchedule(input: $input) {
    schedule { version } } }";
const ROLLBACK: &str = "mutation($id: UUID!, $to: Int!, $expected: Int!) {
    rollbackSchedule(id: $id, toVersion: $to, expectedVersion: $expected) {
        schedule { version name note nextFireAt maxFires calendars { name } timing { expressions zone }
            misfire { catchUp } workflow { version tasks { timeoutSeconds } }
            versions { nodes { version by change snapshot } } } } }";

fn order(id: &str, to: i32, expected: i32) -> Value {
    json!({ "id": id, "to": to, "expected": expected })
}

async fn rolled_back(desk: &Desk, id: &str, to: i32, expected: i32) -> Value {
    let mut answer = desk.ask(ROLLBACK, order(id, to, expected)).await;
    answer["rollbackSchedule"]["schedule"].take()
}

async fn a_rollback_is_a_new_version_with_the_old_definition(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let make = "mutation { createCalendar(input: { name: \"weekends\", mode: EXCLUDE,
        weekdays: [SAT, SUN] }) { calendar { id } } }";
    desk.ask(make, json!({})).await;
    let input = json!({
        "name": "nightly", "note": "first", "tags": ["a"],
        "timing": { "expressions": ["0 2 * * *"], "zone": "Europe/Berlin", "startAt": "2026-01-01T00:00:00Z" },
        "calendars": ["weekends"], "maxFires": 9, "misfire": { "catchUp": "ALL", "max": 7 },
        "startDeadlineSeconds": 60, "context": { "region": "eu" },
        "task": { "target": { "noop": {} } },
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned();
    let change = json!({
        "id": id, "expectedVersion": 1, "name": "hourly", "note": "", "tags": [], "calendars": [],
        "timing": { "expressions": ["0 * * * *"] }, "maxFires": null,
        "misfire": { "catchUp": "SKIP" }, "startDeadlineSeconds": null, "context": {},
    });
    desk.ask(UPDATE, json!({ "input": change })).await;
    desk.clock.set("2026-03-01T13:30:00Z".parse().unwrap());
    let schedule = rolled_back(&desk, &id, 1, 2).await;
    assert_eq!(schedule["version"], 3);
    assert_eq!((&schedule["name"], &schedule["note"]), (&json!("nightly"), &json!("first")));
    assert_eq!(schedule["timing"]["expressions"], json!(["0 2 * * *"]));
    assert_eq!(schedule["calendars"], json!([{ "name": "weekends" }]));
    assert_eq!(schedule["maxFires"], 9);
    // The restored timing applies from now on: the rollback does not restore the old cursor.
    assert_eq!(schedule["nextFireAt"], "2026-03-02T01:00:00Z");
    let versions = &schedule["versions"]["nodes"];
    assert_eq!(versions[0]["by"], "ada");
    let told = versions[0]["change"].as_str().unwrap();
    assert!(
        told.starts_with("rolled back to version 1: timing: `0 * * * *` -> `0 2 * * *`"),
        "{told}"
    );
    assert_eq!(versions[0]["snapshot"], versions[2]["snapshot"]);
    // The ledger accounts for those instants of the hourly timing that no planner claimed.
    let query = "query($id: UUID!) { fires(scheduleId: $id) { nodes {
        scheduledAt scheduleVersion verdict } } }";
    let fires = desk.ask(query, json!({ "id": id })).await;
    assert_eq!(
        fires["fires"]["nodes"],
        json!([{ "scheduledAt": "2026-03-01T13:00:00Z", "scheduleVersion": 2, "verdict": "MISSED" }])
    );
}

async fn a_rollback_brings_back_the_task_of_the_schedule(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let task = |seconds: i32| json!({ "target": { "noop": {} }, "timeoutSeconds": seconds });
    let change = json!({ "id": id, "expectedVersion": 1, "task": task(9) });
    desk.ask(UPDATE, json!({ "input": change })).await;
    let schedule = rolled_back(&desk, &id, 1, 2).await;
    assert_eq!(
        schedule["workflow"],
        json!({ "version": 3, "tasks": [{ "timeoutSeconds": 300.0 }] })
    );
    // A workflow that other schedules run keeps its current version.
    let change = json!({ "id": id, "expectedVersion": 3, "task": task(9) });
    desk.ask(UPDATE, json!({ "input": change })).await;
    let shared =
        json!({ "name": "other", "timing": { "expressions": ["@daily"] }, "workflow": "nightly" });
    desk.ask(CREATE, json!({ "input": shared })).await;
    let change = json!({ "id": id, "expectedVersion": 4, "note": "shared" });
    desk.ask(UPDATE, json!({ "input": change })).await;
    let schedule = rolled_back(&desk, &id, 1, 5).await;
    assert_eq!(schedule["note"], "");
    assert_eq!(schedule["workflow"], json!({ "version": 4, "tasks": [{ "timeoutSeconds": 9.0 }] }));
}

async fn a_rollback_across_a_rename_brings_back_the_name_and_the_task(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let change = json!({ "id": id, "expectedVersion": 1, "name": "hourly" });
    desk.ask(UPDATE, json!({ "input": change })).await;
    let task = json!({ "target": { "noop": {} }, "timeoutSeconds": 9 });
    let change = json!({ "id": id, "expectedVersion": 2, "task": task });
    desk.ask(UPDATE, json!({ "input": change })).await;
    let schedule = rolled_back(&desk, &id, 1, 3).await;
    assert_eq!((&schedule["version"], &schedule["name"]), (&json!(4), &json!("nightly")));
    assert_eq!(
        schedule["workflow"],
        json!({ "version": 3, "tasks": [{ "timeoutSeconds": 300.0 }] })
    );
}

async fn a_rollback_that_cannot_be_is_refused_and_changes_nothing(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let make = "mutation { createCalendar(input: { name: \"weekends\", mode: EXCLUDE,
        weekdays: [SAT, SUN] }) { calendar { id } } }";
    let calendar = desk.ask(make, json!({})).await["createCalendar"]["calendar"]["id"].take();
    let input = json!({
        "name": "nightly", "timing": { "expressions": ["0 2 * * *"] }, "calendars": ["weekends"],
        "task": { "target": { "noop": {} } },
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned();
    let change = json!({ "id": id, "expectedVersion": 1, "calendars": [] });
    desk.ask(UPDATE, json!({ "input": change })).await;
    for (to, expected, code) in [
        (1, 1, "CONFLICT"),
        (2, 2, "BAD_USER_INPUT"),
        (7, 2, "BAD_USER_INPUT"),
        (0, 2, "BAD_USER_INPUT"),
    ] {
        let error = desk.refused(ROLLBACK, order(&id, to, expected)).await;
        assert_eq!(error["extensions"]["code"], code, "{error}");
    }
    let delete = "mutation($id: UUID!) { deleteCalendar(id: $id, expectedVersion: 1) { id } }";
    desk.ask(delete, json!({ "id": calendar })).await;
    let error = desk.refused(ROLLBACK, order(&id, 1, 2)).await;
    assert_eq!(error["extensions"]["field"], "calendars[0]", "{error}");
    let query = "query($id: UUID!) { schedule(id: $id) { version } }";
    assert_eq!(desk.ask(query, json!({ "id": id })).await["schedule"]["version"], 2);
}

async fn versions_are_read_from_any_of_them_on(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    for version in 1..5 {
        let change = json!({ "id": id, "expectedVersion": version, "note": format!("{version}") });
        desk.ask(UPDATE, json!({ "input": change })).await;
    }
    let task = |seconds: i32| json!({ "target": { "noop": {} }, "timeoutSeconds": seconds });
    for version in 5..9 {
        let change = json!({ "id": id, "expectedVersion": version, "task": task(version) });
        desk.ask(UPDATE, json!({ "input": change })).await;
    }
    let numbers = |page: &Value| -> Vec<i64> {
        let nodes = page["nodes"].as_array().unwrap();
        nodes.iter().map(|node| node["version"].as_i64().unwrap()).collect()
    };
    let list = "query($id: UUID!, $upTo: Int, $after: String) { schedule(id: $id) {
        versions(first: 2, upTo: $upTo, after: $after) {
            nodes { version } totalCount pageInfo { hasNextPage endCursor } } } }";
    let listed = async |up_to: Option<i32>, after: Option<&str>| {
        let variables = json!({ "id": id, "upTo": up_to, "after": after });
        desk.ask(list, variables).await["schedule"]["versions"].take()
    };
    assert_eq!(numbers(&listed(None, None).await), [9, 8]);
    let page = listed(Some(3), None).await;
    assert_eq!((numbers(&page), &page["totalCount"]), (vec![3, 2], &json!(3)));
    assert_eq!(page["pageInfo"]["hasNextPage"], true);
    let page = listed(Some(3), page["pageInfo"]["endCursor"].as_str()).await;
    assert_eq!((numbers(&page), &page["pageInfo"]["hasNextPage"]), (vec![1], &json!(false)));
    assert_eq!(numbers(&listed(Some(0), None).await), [0_i64; 0]);
    assert_eq!(numbers(&listed(Some(i32::MAX), None).await), [9, 8]);

    let list = "query { workflow(name: \"nightly\") { version
        versions(first: 2, upTo: 2) { nodes { version } } } }";
    let found = desk.ask(list, json!({})).await;
    assert_eq!(found["workflow"]["version"], 5);
    assert_eq!(numbers(&found["workflow"]["versions"]), [2, 1]);
}
