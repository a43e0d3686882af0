use entity::schedule;
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_change_makes_a_version_that_says_what_changed,
    a_change_of_an_old_version_is_refused_with_both,
    an_edited_timing_begins_anew_from_now,
    a_deleted_schedule_is_gone_and_its_name_free,
    a_task_that_changes_is_a_new_version_of_its_workflow,
);

const UPDATE: &str = "mutation($input: UpdateScheduleInput!) { updateSchedule(input: $input) {
    schedule { id version name nextFireAt startDeadlineSeconds workflow { version }
        versions { nodes { version change } } } } }";

async fn update(desk: &Desk, id: &str, version: i32, change: Value) -> Value {
    let answer = desk.ask(UPDATE, edit(id, version, change)).await;
    answer["updateSchedule"]["schedule"].clone()
}

fn edit(id: &str, version: i32, change: Value) -> Value {
    let mut input = json!({ "id": id, "expectedVersion": version });
    for (key, value) in change.as_object().unwrap() {
        input[key] = value.clone();
    }
    json!({ "input": input })
}

async fn a_change_makes_a_version_that_says_what_changed(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let timing = json!({ "expressions": ["0 3 * * *"] });
    let changed = json!({ "timing": timing, "startDeadlineSeconds": 60 });
    let schedule = update(&desk, &id, 1, changed).await;
    assert_eq!(schedule["version"], 2);
    assert_eq!(schedule["nextFireAt"], "2026-03-02T03:00:00Z");
    assert_eq!(
        schedule["versions"]["nodes"][0]["change"],
        "timing: `0 2 * * *` -> `0 3 * * *`; start deadline seconds: none -> `60`"
    );
    // What is absent stays; null takes the deadline away.
    let schedule = update(&desk, &id, 2, json!({ "note": "moved" })).await;
    assert_eq!((&schedule["version"], &schedule["startDeadlineSeconds"]), (&json!(3), &json!(60)));
    let schedule = update(&desk, &id, 3, json!({ "startDeadlineSeconds": null })).await;
    assert_eq!(schedule["startDeadlineSeconds"], Value::Null);
    // Nothing changed: no version.
    let schedule = update(&desk, &id, 4, json!({ "note": "moved" })).await;
    assert_eq!(schedule["version"], 4);
}

async fn a_change_of_an_old_version_is_refused_with_both(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    update(&desk, &id, 1, json!({ "note": "first" })).await;
    let error = desk.refused(UPDATE, edit(&id, 1, json!({ "note": "second" }))).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT");
    assert_eq!(error["extensions"]["expectedVersion"], 1);
    assert_eq!(error["extensions"]["currentVersion"], 2);
    let query = "query($id: UUID!) { schedule(id: $id) { note version } }";
    let answer = desk.ask(query, json!({ "id": id })).await;
    assert_eq!(answer["schedule"], json!({ "note": "first", "version": 2 }));
}

async fn an_edited_timing_begins_anew_from_now(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("every", "*/10 * * * *").await;
    // Nobody claimed for an hour; the edit does not make up for it.
    desk.clock.set("2026-03-01T13:00:30Z".parse().unwrap());
    let timing = json!({ "expressions": ["*/5 * * * *"] });
    let schedule = update(&desk, &id, 1, json!({ "timing": timing })).await;
    assert_eq!(schedule["nextFireAt"], "2026-03-01T13:05:00Z");
    // An edit of something else leaves the cursor alone.
    desk.clock.set("2026-03-01T13:20:30Z".parse().unwrap());
    let schedule = update(&desk, &id, 2, json!({ "note": "x" })).await;
    assert_eq!(schedule["nextFireAt"], "2026-03-01T13:05:00Z");
}

async fn a_deleted_schedule_is_gone_and_its_name_free(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let query = "mutation($id: UUID!) { deleteSchedule(id: $id, reason: \"done\") { id } }";
    desk.ask(query, json!({ "id": id })).await;
    let found = "query($id: UUID!) { schedule(id: $id) { id } schedules { totalCount } }";
    let answer = desk.ask(found, json!({ "id": id })).await;
    assert_eq!(answer, json!({ "schedule": null, "schedules": { "totalCount": 0 } }));
    let error = desk.refused(query, json!({ "id": id })).await;
    assert_eq!(error["extensions"]["code"], "NOT_FOUND");
    // Its workflow was left behind, and is taken up by the next of that name.
    let again = desk.schedule("nightly", "0 4 * * *").await;
    assert_ne!(again, id);
    let read = desk.database.store.read();
    let rows = schedule::Entity::find().all(read).await.unwrap();
    assert_eq!(rows.iter().filter(|row| row.enabled).count(), 1);
}

async fn a_task_that_changes_is_a_new_version_of_its_workflow(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let task = json!({ "task": { "target": { "noop": {} }, "timeoutSeconds": 5.5 } });
    let schedule = update(&desk, &id, 1, task.clone()).await;
    assert_eq!(schedule["workflow"]["version"], 2);
    assert_eq!(
        schedule["versions"]["nodes"][0]["change"],
        "task of workflow nightly changed (version 2)"
    );
    let schedule = update(&desk, &id, 2, task).await;
    assert_eq!(schedule["version"], 2, "the same task is no change");

    // A workflow that another schedule runs is not changed under its feet.
    let shared =
        json!({ "name": "other", "timing": { "expressions": ["@daily"] }, "workflow": "nightly" });
    desk.ask(CREATE, json!({ "input": shared })).await;
    let task = json!({ "task": { "target": { "noop": {} }, "timeoutSeconds": 9 } });
    let error = desk.refused(UPDATE, edit(&id, 2, task)).await;
    assert_eq!(error["extensions"]["field"], "name", "{error}");
}
