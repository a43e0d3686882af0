use entity::{audit_event, schedule, schedule_version, user::Role, workflow, workflow_version};
use sea_orm::{EntityTrait, PaginatorTrait};
use serde_json::{Value, json};

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    many_are_made_as_one_is_each_with_its_rows,
    one_invalid_schedule_refuses_all_and_is_named_by_its_position,
    a_name_that_is_taken_is_found_among_many,
    one_runs_the_workflow_that_another_brings_along,
    a_task_gets_a_workflow_of_its_own_where_a_deleted_schedule_had_one,
    too_many_or_none_are_refused,
    a_repeated_order_is_answered_and_not_carried_out_again,
);

const CREATE_MANY: &str = "mutation($inputs: [CreateScheduleInput!]!, $key: String) {
    createSchedules(inputs: $inputs, idempotencyKey: $key) { id name warnings { code } } }";

fn one(name: &str) -> Value {
    json!({
        "name": name,
        "timing": { "expressions": ["0 2 * * *"], "zone": "Europe/Berlin" },
        "tags": ["bulk"],
        "task": { "target": { "noop": { "note": name } } },
    })
}

fn many(inputs: impl IntoIterator<Item = Value>) -> Value {
    json!({ "inputs": inputs.into_iter().collect::<Vec<_>>() })
}

async fn rows(desk: &Desk) -> [u64; 5] {
    let read = desk.database.store.read();
    [
        schedule::Entity::find().count(read).await.unwrap(),
        schedule_version::Entity::find().count(read).await.unwrap(),
        workflow::Entity::find().count(read).await.unwrap(),
        workflow_version::Entity::find().count(read).await.unwrap(),
        audit_event::Entity::find().count(read).await.unwrap(),
    ]
}

/// The row without the fields that differ from one schedule to the next.
fn alike(mut row: schedule::Model) -> Value {
    row.id = uuid::Uuid::nil();
    row.workflow_id = uuid::Uuid::nil();
    row.name = String::new();
    row.shard = 0;
    row.changed = 0;
    json!(format!("{row:?}"))
}

async fn many_are_made_as_one_is_each_with_its_rows(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let single = one("single");
    let create = "mutation($input: CreateScheduleInput!) {
        createSchedule(input: $input) { schedule { id } } }";
    desk.ask(create, json!({ "input": single })).await;
    let paused = {
        let mut input = one("bulk-paused");
        input["paused"] = json!(true);
        input
    };
    let inputs = (0..600).map(|number| one(&format!("bulk-{number}"))).chain([paused]);
    let made = desk.ask(CREATE_MANY, many(inputs)).await;
    let made = made["createSchedules"].as_array().unwrap();
    assert_eq!(made.len(), 601);
    assert_eq!((&made[0]["name"], &made[599]["name"]), (&json!("bulk-0"), &json!("bulk-599")));
    assert_eq!(rows(&desk).await, [602, 602, 602, 602, 1_204]);

    let read = desk.database.store.read();
    let all = schedule::Entity::find().all(read).await.unwrap();
    let named = |name: &str| all.iter().find(|row| row.name == name).cloned().unwrap();
    assert_eq!(alike(named("single")), alike(named("bulk-17")));
    assert_eq!(made[17]["id"], json!(named("bulk-17").id));
    let paused = named("bulk-paused");
    assert!(!paused.enabled);
    assert_eq!(paused.paused_by.as_deref(), Some("ada"));

    let query = "query($id: UUID!) { schedule(id: $id) { state nextFireAt
        workflow { name tasks { target { ... on NoopTarget { note } } } }
        versions { nodes { version by change } } } }";
    let found = desk.ask(query, json!({ "id": named("bulk-17").id })).await;
    let found = &found["schedule"];
    assert_eq!(found["nextFireAt"], "2026-03-02T01:00:00Z");
    assert_eq!(found["workflow"]["name"], "bulk-17");
    assert_eq!(found["workflow"]["tasks"][0]["target"]["note"], "bulk-17");
    assert_eq!(
        found["versions"]["nodes"],
        json!([{ "version": 1, "by": "ada", "change": "made" }])
    );
    let entries = audit_event::Entity::find().all(read).await.unwrap();
    let of_one: Vec<_> = entries.iter().filter(|entry| entry.subject == "bulk-17").collect();
    assert_eq!(of_one.len(), 2);
    assert!(of_one.iter().all(|entry| entry.actor == "ada" && entry.after.is_some()));
}

async fn one_invalid_schedule_refuses_all_and_is_named_by_its_position(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let cases = [
        ("timing", json!({ "expressions": ["0 99 * * *"] }), "inputs[2].timing.expressions[0]"),
        ("namespace", json!("nowhere"), "inputs[2].namespace"),
        ("task", json!(null), "inputs[2].workflow"),
        ("group", json!("unknown"), "inputs[2].group"),
        ("name", json!("a"), "inputs[2].name"),
        ("name", json!("not a name"), "inputs[2].name"),
    ];
    for (field, value, place) in cases {
        let mut bad = one("c");
        bad[field] = value;
        let error = desk.refused(CREATE_MANY, many([one("a"), one("b"), bad])).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(error["extensions"]["field"], place, "{error}");
    }
    assert_eq!(rows(&desk).await, [0; 5]);
    let editor_only = desk.refused_as(Some(Role::Operator), CREATE_MANY, many([one("a")])).await;
    assert_eq!(editor_only["extensions"]["code"], "FORBIDDEN");
}

async fn a_name_that_is_taken_is_found_among_many(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("b", "@daily").await;
    let before = rows(&desk).await;
    let by_name = |name: &str| {
        let mut input = one(name);
        input["task"] = json!(null);
        input["workflow"] = json!("b");
        input
    };
    let error = desk.refused(CREATE_MANY, many(["c", "b", "a"].map(by_name))).await;
    assert_eq!(error["extensions"]["field"], "inputs[1].name");
    assert_eq!(error["extensions"]["problem"], "is the name of another schedule");
    // A schedule with its own task is refused as well: its workflow would also get the taken name.
    let error = desk.refused(CREATE_MANY, many(["c", "b"].map(one))).await;
    assert_eq!(error["extensions"]["field"], "inputs[1].name");
    assert_eq!(error["extensions"]["problem"], "is the name of another schedule");
    assert_eq!(rows(&desk).await, before);
}

async fn one_runs_the_workflow_that_another_brings_along(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let mut follower = one("b");
    follower["task"] = json!(null);
    follower["workflow"] = json!("a");
    desk.ask(CREATE_MANY, many([one("a"), follower])).await;
    assert_eq!(rows(&desk).await, [2, 2, 1, 1, 3]);
    // If the schedules are given in the other order, the workflow does not exist yet.
    let mut early = one("d");
    early["task"] = json!(null);
    early["workflow"] = json!("e");
    let error = desk.refused(CREATE_MANY, many([early, one("e")])).await;
    assert_eq!(error["extensions"]["field"], "inputs[0].workflow");
}

async fn a_task_gets_a_workflow_of_its_own_where_a_deleted_schedule_had_one(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("b", "@daily").await;
    let delete = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
    desk.ask(delete, json!({ "id": id })).await;
    desk.ask(CREATE_MANY, many(["a", "b", "c"].map(one))).await;
    // The workflow of the deleted schedule was deleted with it.
    let [schedules, _, workflows, definitions, _] = rows(&desk).await;
    assert_eq!((schedules, workflows, definitions), (4, 4, 4));
}

async fn too_many_or_none_are_refused(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let inputs = (0..1_001).map(|number| one(&format!("bulk-{number}")));
    for (inputs, problem) in [(many(inputs), "are too many"), (many([]), "is empty")] {
        let error = desk.refused(CREATE_MANY, inputs).await;
        assert_eq!(error["extensions"]["field"], "inputs");
        assert_eq!(error["extensions"]["problem"], problem);
    }
}

async fn a_repeated_order_is_answered_and_not_carried_out_again(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let order = |names: [&str; 2]| {
        let mut order = many(names.map(one));
        order["key"] = json!("k-1");
        order
    };
    let first = desk.ask(CREATE_MANY, order(["a", "b"])).await;
    assert_eq!(first, desk.ask(CREATE_MANY, order(["a", "b"])).await);
    let error = desk.refused(CREATE_MANY, order(["a", "c"])).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT");
    assert_eq!(rows(&desk).await[0], 2);
}
