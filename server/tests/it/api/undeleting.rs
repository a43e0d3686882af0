//! Restoring deleted schedules.

use entity::{run::State, workflow};
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use super::{desk::Desk, sorting::settle};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_schedule_goes_with_its_own_workflow_and_comes_back_with_it,
    a_run_says_that_its_schedule_was_deleted,
    a_workflow_that_others_run_or_that_is_older_stays,
    a_taken_name_is_refused_and_another_one_can_be_given,
    a_name_that_looks_like_an_id_is_refused,
    a_paused_schedule_shows_the_rows_of_its_pause,
    a_run_by_hand_tells_its_instant,
);

const DELETE: &str = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
const DELETED: &str = "{ deletedSchedules { nodes { id name deletedAt keptUntil } } }";
const WORKFLOWS: &str = "{ workflows { nodes { name } } }";
const UNDELETE: &str = "mutation($id: UUID!, $name: String, $key: String) {
    undeleteSchedule(id: $id, name: $name, idempotencyKey: $key) {
        schedule { id name version state nextFireAt workflow { name }
            versions { nodes { change } } } } }";

fn names(list: &Value) -> Vec<&str> {
    let nodes = list["nodes"].as_array().unwrap().iter();
    nodes.map(|node| node["name"].as_str().unwrap()).collect()
}

async fn a_schedule_goes_with_its_own_workflow_and_comes_back_with_it(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    desk.ask(DELETE, json!({ "id": id })).await;
    assert!(names(&desk.ask(WORKFLOWS, json!({})).await["workflows"]).is_empty());
    let listed = desk.ask(DELETED, json!({})).await["deletedSchedules"].take();
    assert_eq!(listed["nodes"][0]["id"], *id);
    assert_eq!(listed["nodes"][0]["keptUntil"], "2026-03-08T12:00:00Z");

    let order = json!({ "id": id, "key": "once" });
    let back = desk.ask(UNDELETE, order.clone()).await["undeleteSchedule"]["schedule"].take();
    assert_eq!((&back["id"], &back["name"]), (&json!(id), &json!("nightly")));
    assert_eq!(back["workflow"]["name"], "nightly");
    assert_eq!(back["nextFireAt"], "2026-03-02T02:00:00Z");
    assert_eq!(back["versions"]["nodes"][0]["change"], "restored after it was deleted");
    assert!(names(&desk.ask(DELETED, json!({})).await["deletedSchedules"]).is_empty());
    assert_eq!(names(&desk.ask(WORKFLOWS, json!({})).await["workflows"]), ["nightly"]);
    // A repeated call gets the same answer; a new call finds no deleted schedule.
    let again = desk.ask(UNDELETE, order).await["undeleteSchedule"]["schedule"].take();
    assert_eq!(again["version"], back["version"]);
    let error = desk.refused(UNDELETE, json!({ "id": id })).await;
    assert_eq!(error["extensions"]["code"], "NOT_FOUND");
    let log = "{ auditEvents(filter: { action: \"schedule.undelete\" }) { nodes { subject } } }";
    let audited = desk.ask(log, json!({})).await;
    assert_eq!(audited["auditEvents"]["nodes"], json!([{ "subject": "nightly" }]));
}

async fn a_run_says_that_its_schedule_was_deleted(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let run = desk.trigger(&id).await;
    settle(&desk, &run, State::Succeeded, 5).await;
    let query = "query($id: UUID!) { run(id: $id) {
        schedule { name deletedAt } workflow { name deletedAt } } }";
    let of = async |field: &str| desk.ask(query, json!({ "id": run })).await["run"][field].take();
    let kept = json!({ "name": "nightly", "deletedAt": null });
    assert_eq!([of("schedule").await, of("workflow").await], [kept.clone(), kept]);
    desk.ask(DELETE, json!({ "id": id })).await;
    let gone = json!({ "name": "nightly", "deletedAt": "2026-03-01T12:00:00Z" });
    assert_eq!([of("schedule").await, of("workflow").await], [gone.clone(), gone]);
}

async fn a_workflow_that_others_run_or_that_is_older_stays(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let first = desk.schedule("shared", "0 2 * * *").await;
    let input = json!({
        "name": "second", "timing": { "expressions": ["0 3 * * *"] }, "workflow": "shared",
    });
    desk.ask(super::desk::CREATE, json!({ "input": input })).await;
    desk.ask(DELETE, json!({ "id": first })).await;
    assert_eq!(names(&desk.ask(WORKFLOWS, json!({})).await["workflows"]), ["shared"]);
    let rows = workflow::Entity::find().all(desk.database.store.read()).await.unwrap();
    assert_eq!(rows.len(), 1);
}

async fn a_taken_name_is_refused_and_another_one_can_be_given(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let old = desk.schedule("nightly", "0 2 * * *").await;
    desk.ask(DELETE, json!({ "id": old })).await;
    desk.schedule("nightly", "0 4 * * *").await;
    let error = desk.refused(UNDELETE, json!({ "id": old })).await;
    assert_eq!(error["extensions"]["field"], "name", "{error}");
    let order = json!({ "id": old, "name": "nightly-old" });
    let back = desk.ask(UNDELETE, order).await["undeleteSchedule"]["schedule"].take();
    assert_eq!(back["name"], "nightly-old");
    assert_eq!(back["workflow"]["name"], "nightly-old");
}

async fn a_name_that_looks_like_an_id_is_refused(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let input = json!({
        "name": id, "timing": { "expressions": ["0 3 * * *"] },
        "task": { "target": { "noop": {} } },
    });
    let error = desk.refused(super::desk::CREATE, json!({ "input": input })).await;
    assert_eq!(error["extensions"]["field"], "name", "{error}");
}

async fn a_paused_schedule_shows_the_rows_of_its_pause(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("hourly", "0 * * * *").await;
    let asked = "query($id: UUID!, $after: String) { schedule(id: $id) {
        pausedFires(first: 2, after: $after) { nodes { scheduledAt verdict reason virtual }
            pageInfo { hasNextPage endCursor } } } }";
    let before = desk.ask(asked, json!({ "id": id })).await;
    assert_eq!(before["schedule"]["pausedFires"]["nodes"], json!([]));
    let pause = "mutation($id: UUID!) {
        pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": id })).await;
    desk.clock.set("2026-03-01T15:10:00Z".parse().unwrap());
    let rows = desk.ask(asked, json!({ "id": id })).await["schedule"]["pausedFires"].take();
    let row = |at: &str| json!({ "scheduledAt": at, "verdict": "SKIPPED", "reason": "PAUSED", "virtual": true });
    assert_eq!(rows["nodes"], json!([row("2026-03-01T13:00:00Z"), row("2026-03-01T14:00:00Z")]));
    assert_eq!(rows["pageInfo"]["hasNextPage"], true);
    let next = json!({ "id": id, "after": rows["pageInfo"]["endCursor"] });
    let rows = desk.ask(asked, next).await["schedule"]["pausedFires"].take();
    assert_eq!(rows["nodes"], json!([row("2026-03-01T15:00:00Z")]));
}

async fn a_run_by_hand_tells_its_instant(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let trigger = "mutation($id: UUID!) {
        triggerSchedule(id: $id, asOf: \"2026-02-27T02:00:00Z\") { run { scheduledAt } } }";
    let made = desk.ask(trigger, json!({ "id": id })).await;
    assert_eq!(made["triggerSchedule"]["run"]["scheduledAt"], "2026-02-27T02:00:00Z");
}
