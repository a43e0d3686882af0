use sea_orm::{EntityTrait, PaginatorTrait};
use serde_json::{Value, json};

use super::{super::desk::Desk, ORDER, run_of, window, with};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_backfill_is_paused_resumed_and_cancelled_and_each_step_is_audited,
    a_repeated_order_is_answered_although_its_instants_have_run,
    backfills_are_listed_newest_first_by_schedule_and_state,
);

async fn a_backfill_is_paused_resumed_and_cancelled_and_each_step_is_audited(
    database: TestDatabase,
) {
    const FACTS: &str = "backfill { state finishedAt pause { by at } cancel { by reason at }
        progress { pending cancelled } fires(state: CANCELLED, first: 1) { nodes { detail } } }";
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@hourly").await;
    let made = desk.ask(ORDER, window(&id, "09:00", "12:00")).await;
    let backfill = made["createBackfill"]["backfill"]["id"].clone();
    let order = async |mutation: &str| {
        let query = format!("mutation($id: UUID!) {{ done: {mutation} {{ {FACTS} }} }}");
        desk.ask(&query, json!({ "id": backfill })).await["done"]["backfill"].take()
    };
    let at = "2026-03-01T12:00:00Z";
    let paused = order("pauseBackfill(id: $id)").await;
    assert_eq!(paused["state"], "PAUSED");
    assert_eq!(paused["pause"], json!({ "by": "ada", "at": at }));
    assert_eq!(order("pauseBackfill(id: $id)").await, paused, "a second time changes nothing");
    let resumed = order("resumeBackfill(id: $id)").await;
    assert_eq!((&resumed["state"], &resumed["pause"]), (&json!("RUNNING"), &Value::Null));
    let cancelled = order("cancelBackfill(id: $id, reason: \"not today\")").await;
    assert_eq!(
        cancelled,
        json!({
            "state": "CANCELLED", "finishedAt": at, "pause": null,
            "cancel": { "by": "ada", "reason": "not today", "at": at },
            "progress": { "pending": 0, "cancelled": 3 },
            "fires": { "nodes": [{ "detail": "not today" }] },
        })
    );
    for mutation in ["pauseBackfill", "resumeBackfill", "cancelBackfill"] {
        let query =
            format!("mutation($id: UUID!) {{ {mutation}(id: $id) {{ backfill {{ id }} }} }}");
        let error = desk.refused(&query, json!({ "id": backfill })).await;
        assert_eq!(error["extensions"]["code"], "CONFLICT", "{mutation}");
    }
    let audit = entity::audit_event::Entity::find().all(desk.database.store.read()).await.unwrap();
    let mut actions: Vec<&str> = audit.iter().map(|entry| &*entry.action).collect();
    actions.retain(|action| action.starts_with("backfill."));
    actions.sort_unstable();
    assert_eq!(
        actions,
        ["backfill.cancel", "backfill.create", "backfill.pause", "backfill.resume"]
    );
}

async fn a_repeated_order_is_answered_although_its_instants_have_run(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@hourly").await;
    let wanted = window(&id, "11:00", "12:00");
    let keyed = with(wanted.clone(), json!({ "key": "k-1" }));
    let first = desk.ask(ORDER, keyed.clone()).await;
    run_of(&desk, &id, "11:00", "succeeded").await;
    assert_eq!(desk.ask(ORDER, keyed.clone()).await, first);
    let error = desk.refused(ORDER, wanted).await;
    assert_eq!(error["extensions"]["field"], "mode");
    let other = with(keyed, json!({ "concurrency": 2 }));
    let error = desk.refused(ORDER, other).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT");
    let read = desk.database.store.read();
    assert_eq!(entity::backfill::Entity::find().count(read).await.unwrap(), 1);
}

async fn backfills_are_listed_newest_first_by_schedule_and_state(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (tick, tock) =
        (desk.schedule("tick", "@hourly").await, desk.schedule("tock", "@hourly").await);
    let mut made = Vec::new();
    for schedule in [&tick, &tock, &tick] {
        desk.clock.advance(std::time::Duration::from_secs(60));
        let answer = desk.ask(ORDER, window(schedule, "09:00", "12:00")).await;
        made.push(answer["createBackfill"]["backfill"]["id"].as_str().unwrap().to_owned());
    }
    let cancel = "mutation($id: UUID!) { cancelBackfill(id: $id) { backfill { id } } }";
    desk.ask(cancel, json!({ "id": made[0] })).await;
    made.reverse();
    let list = "query($schedule: UUID, $state: BackfillState, $first: Int, $after: String) {
        backfills(scheduleId: $schedule, state: $state, first: $first, after: $after) {
            nodes { id progress { total } } pageInfo { endCursor hasNextPage } } }";
    let ids = |answer: &Value| -> Vec<String> {
        let nodes = answer["backfills"]["nodes"].as_array().unwrap();
        nodes.iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect()
    };
    let first = desk.ask(list, json!({ "first": 2 })).await;
    assert_eq!(ids(&first), made[..2]);
    assert_eq!(first["backfills"]["nodes"][1]["progress"]["total"], 3);
    let info = &first["backfills"]["pageInfo"];
    assert_eq!(info["hasNextPage"], true);
    let rest = desk.ask(list, json!({ "after": info["endCursor"] })).await;
    assert_eq!(ids(&rest), made[2..]);
    for (filter, expected) in [
        (json!({ "schedule": tock }), vec![made[1].clone()]),
        (json!({ "state": "CANCELLED" }), vec![made[2].clone()]),
        (json!({ "schedule": tick, "state": "RUNNING" }), vec![made[0].clone()]),
    ] {
        assert_eq!(ids(&desk.ask(list, filter.clone()).await), expected, "{filter}");
    }
    let one = "query($id: UUID!) { backfill(id: $id) { state
        fires(first: 2) { nodes { position } pageInfo { endCursor } } } }";
    let answer = desk.ask(one, json!({ "id": made[1] })).await;
    let fires = &answer["backfill"]["fires"];
    assert_eq!(fires["nodes"], json!([{ "position": 0 }, { "position": 1 }]));
    let after = "query($id: UUID!, $after: String) {
        backfill(id: $id) { fires(after: $after) { nodes { position } } } }";
    let variables = json!({ "id": made[1], "after": fires["pageInfo"]["endCursor"] });
    let answer = desk.ask(after, variables).await;
    assert_eq!(answer["backfill"]["fires"]["nodes"], json!([{ "position": 2 }]));
}

#[tokio::test]
async fn a_bad_backfill_is_refused_with_the_field_and_nothing_is_kept() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let id = desk.schedule("tick", "* * * * * *").await;
    let wanted = window(&id, "11:00", "11:01");
    let cases = [
        ("to", json!({ "to": "2026-03-01T12:00:00.001Z" })),
        ("from", json!({ "from": "2026-03-01T11:01:00Z" })),
        ("from", json!({ "from": "1969-12-31T23:59:59Z" })),
        ("to", json!({ "from": "2026-02-17T00:00:00Z", "to": "2026-03-01T00:00:00Z" })),
        ("concurrency", json!({ "concurrency": 0 })),
        ("concurrency", json!({ "concurrency": 101 })),
        ("reason", json!({ "reason": "  " })),
        ("reason", json!({ "reason": "x".repeat(501) })),
        ("context", json!({ "context": [1] })),
        ("context", json!({ "context": { "text": "x".repeat(256 * 1024) } })),
        ("idempotencyKey", json!({ "key": "no spaces" })),
    ];
    for (field, more) in cases {
        let error = desk.refused(ORDER, with(wanted.clone(), more)).await;
        let extensions = &error["extensions"];
        assert_eq!(extensions["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(extensions["field"], field, "{error}");
    }
    let read = desk.database.store.read();
    assert_eq!(entity::backfill::Entity::find().count(read).await.unwrap(), 0);
    assert_eq!(entity::backfill_fire::Entity::find().count(read).await.unwrap(), 0);
}
