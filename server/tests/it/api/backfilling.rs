use entity::{
    Timestamp,
    fire::{self, Kind, Reason, Verdict},
};
use sea_orm::{ActiveModelTrait, ConnectionTrait, EntityTrait, IntoActiveModel, PaginatorTrait};
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    a_preview_tells_what_each_instant_has_come_to,
    what_is_ordered_is_what_the_preview_said,
    what_a_calendar_suppresses_is_not_run,
    what_is_so_long_ago_that_it_is_forgotten_runs_only_with_all,
    a_range_accounts_only_for_what_its_own_timing_named,
    what_the_planner_has_yet_to_claim_is_left_to_it,
    a_backfill_is_paused_resumed_and_cancelled_and_each_is_told,
    a_repeated_order_is_answered_although_its_instants_have_run,
    backfills_are_listed_newest_first_by_schedule_and_state,
);

const PREVIEW: &str = "query($id: UUID!, $from: DateTime!, $to: DateTime!,
    $mode: BackfillMode = MISSING, $first: Int = 50, $after: String,
    $selected: Boolean = false, $standing: BackfillStanding) {
    previewBackfill(scheduleId: $id, from: $from, to: $to, mode: $mode) {
        total missing succeeded failed live suppressed selected
        fires(first: $first, after: $after, selectedOnly: $selected, standing: $standing) {
            nodes { at local offset kind standing selected fire { verdict count } }
            pageInfo { hasNextPage endCursor }
        } } }";

const ORDER: &str = "mutation($id: UUID!, $from: DateTime!, $to: DateTime!,
    $mode: BackfillMode = MISSING, $order: BackfillOrder = OLDEST_FIRST, $concurrency: Int = 1,
    $reason: String!, $context: JSON, $key: String) {
    createBackfill(scheduleId: $id, from: $from, to: $to, mode: $mode, order: $order,
        concurrency: $concurrency, reason: $reason, context: $context, idempotencyKey: $key) {
        backfill {
            id state mode order concurrency from to reason context createdBy createdAt finishedAt
            schedule { name } scheduleVersion pause { by } cancel { by }
            progress { total pending running succeeded failed cancelled skipped }
            fires { nodes { position scheduledAt local state run { id } } }
        } } }";

fn window(id: &str, from: &str, to: &str) -> Value {
    let day = |time: &str| format!("2026-03-01T{time}:00Z");
    json!({ "id": id, "from": day(from), "to": day(to), "reason": "the receiver was down" })
}

fn with(mut variables: Value, more: Value) -> Value {
    variables.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    variables
}

async fn write(desk: &Desk, sql: &str, values: Vec<sea_orm::Value>) {
    let store = &desk.database.store;
    let tx = store.begin().await.unwrap();
    tx.execute_raw(store.dialect().statement(sql, values)).await.unwrap();
    store.commit(tx).await.unwrap();
}

/// A run that stands for an instant of 1 March, in a state.
async fn run_of(desk: &Desk, schedule: &str, time: &str, state: &str) -> Uuid {
    let query = "mutation($id: UUID!, $at: DateTime!) {
        triggerSchedule(id: $id, asOf: $at) { run { id } } }";
    let at = format!("2026-03-01T{time}:00Z");
    let answer = desk.ask(query, json!({ "id": schedule, "at": at })).await;
    let run: Uuid = answer["triggerSchedule"]["run"]["id"].as_str().unwrap().parse().unwrap();
    let sql = "UPDATE run SET state = $2 WHERE id = $1";
    write(desk, sql, vec![run.into(), state.into()]).await;
    run
}

/// A row of the ledger, from an hour on for as many hours.
async fn fire_at(desk: &Desk, schedule: &str, hour: i64, count: i64, verdict: Verdict) {
    let at = Timestamp(super::desk::noon().timestamp_millis() + (hour - 12) * 3_600_000);
    let row = fire::Model {
        id: Uuid::now_v7(),
        namespace_id: Uuid::nil(),
        schedule_id: schedule.parse().unwrap(),
        schedule_version: 1,
        scheduled_at: at,
        due_at: at,
        last_scheduled_at: Timestamp(at.0 + (count - 1) * 3_600_000),
        count,
        kind: Kind::Normal,
        verdict,
        reason: Reason::Outage,
        detail: None,
        claimed_by: None,
        claimed_at: at,
        decided_at: None,
        run_id: None,
        recovery_attempts: 0,
        recovery_at: None,
        queue_position: None,
    };
    let tx = desk.database.store.begin().await.unwrap();
    row.into_active_model().insert(&tx).await.unwrap();
    desk.database.store.commit(tx).await.unwrap();
}

/// 04 in a range, 05 missed, 06 succeeded, 07 failed, 08 failed and then succeeded, 09 alive,
/// 10 pending, 11 nothing.
async fn lived(desk: &Desk) -> String {
    let id = desk.schedule("tick", "@hourly").await;
    fire_at(desk, &id, 2, 3, Verdict::Skipped).await;
    fire_at(desk, &id, 5, 1, Verdict::Missed).await;
    run_of(desk, &id, "06:00", "succeeded").await;
    let failed = run_of(desk, &id, "07:00", "failed").await;
    fire_at(desk, &id, 7, 1, Verdict::Started).await;
    let sql = "UPDATE fire SET run_id = $1 WHERE verdict = 'started'";
    write(desk, sql, vec![failed.into()]).await;
    run_of(desk, &id, "08:00", "timed_out").await;
    run_of(desk, &id, "08:00", "succeeded").await;
    run_of(desk, &id, "09:00", "retrying").await;
    fire_at(desk, &id, 10, 1, Verdict::Pending).await;
    id
}

async fn a_preview_tells_what_each_instant_has_come_to(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = lived(&desk).await;
    let wanted = window(&id, "04:00", "12:00");
    let preview = desk.ask(PREVIEW, wanted.clone()).await["previewBackfill"].take();
    let counts = |preview: &Value| {
        ["total", "missing", "succeeded", "failed", "live", "selected"]
            .map(|name| preview[name].as_i64().unwrap())
    };
    assert_eq!(counts(&preview), [8, 3, 2, 1, 2, 3]);
    let fires = preview["fires"]["nodes"].as_array().unwrap();
    let standings: Vec<&str> =
        fires.iter().map(|fire| fire["standing"].as_str().unwrap()).collect();
    assert_eq!(
        standings,
        ["MISSING", "MISSING", "SUCCEEDED", "FAILED", "SUCCEEDED", "LIVE", "LIVE", "MISSING"]
    );
    let selected: Vec<bool> = fires.iter().map(|fire| fire["selected"] == true).collect();
    assert_eq!(selected, [true, true, false, false, false, false, false, true]);
    assert_eq!(
        fires[0],
        json!({
            "at": "2026-03-01T04:00:00Z", "local": "2026-03-01T04:00:00", "offset": "+00:00",
            "kind": "NORMAL", "standing": "MISSING", "selected": true,
            "fire": { "verdict": "SKIPPED", "count": 3 },
        })
    );
    assert_eq!(fires[1]["fire"]["verdict"], "MISSED");
    assert_eq!(fires[7]["fire"], Value::Null);
    for (mode, expected) in [("MISSING", 3), ("MISSING_AND_FAILED", 4), ("ALL", 6)] {
        let preview = desk.ask(PREVIEW, with(wanted.clone(), json!({ "mode": mode }))).await;
        assert_eq!(preview["previewBackfill"]["selected"], expected, "{mode}");
    }
    let first = with(wanted, json!({ "first": 2, "selected": true }));
    let some = desk.ask(PREVIEW, first).await["previewBackfill"].take();
    assert_eq!(counts(&some), [8, 3, 2, 1, 2, 3]);
    assert_eq!(some["fires"]["nodes"].as_array().unwrap().len(), 2);
}

async fn what_is_ordered_is_what_the_preview_said(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = lived(&desk).await;
    let wanted = with(window(&id, "04:00", "12:00"), json!({ "mode": "MISSING_AND_FAILED" }));
    let asked = with(wanted.clone(), json!({ "selected": true }));
    let preview = desk.ask(PREVIEW, asked).await["previewBackfill"]["fires"]["nodes"].take();
    let mut previewed: Vec<&Value> =
        preview.as_array().unwrap().iter().map(|fire| &fire["at"]).collect();
    previewed.reverse();
    let more = json!({ "order": "NEWEST_FIRST", "concurrency": 3, "context": { "dry": true } });
    let made = desk.ask(ORDER, with(wanted, more)).await["createBackfill"]["backfill"].take();
    let fires = made["fires"]["nodes"].as_array().unwrap();
    let ordered: Vec<&Value> = fires.iter().map(|fire| &fire["scheduledAt"]).collect();
    assert_eq!(ordered, previewed);
    assert!(fires.iter().all(|fire| fire["state"] == "PENDING" && fire["run"] == Value::Null));
    assert_eq!(fires[1]["position"], 1);
    assert_eq!(fires[1]["local"], "2026-03-01T07:00:00");
    let mut facts = made.clone();
    for own in ["id", "fires"] {
        facts.as_object_mut().unwrap().remove(own);
    }
    assert_eq!(
        facts,
        json!({
            "state": "RUNNING", "mode": "MISSING_AND_FAILED", "order": "NEWEST_FIRST",
            "concurrency": 3, "from": "2026-03-01T04:00:00Z", "to": "2026-03-01T12:00:00Z",
            "reason": "the receiver was down", "context": { "dry": true }, "createdBy": "ada",
            "createdAt": "2026-03-01T12:00:00Z", "finishedAt": null,
            "schedule": { "name": "tick" }, "scheduleVersion": 1, "pause": null, "cancel": null,
            "progress": { "total": 4, "pending": 4, "running": 0, "succeeded": 0, "failed": 0,
                "cancelled": 0, "skipped": 0 },
        })
    );
    let audit = entity::audit_event::Entity::find().all(desk.database.store.read()).await.unwrap();
    let entry = audit.iter().find(|entry| entry.action == "backfill.create").unwrap();
    assert_eq!((&*entry.subject, entry.reason.as_deref()), ("tick", Some("the receiver was down")));
    assert_eq!(entry.after.as_ref().unwrap()["fires"], 4);
}

async fn what_a_calendar_suppresses_is_not_run(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let make = "mutation($input: CreateCalendarInput!) {
        createCalendar(input: $input) { calendar { id } } }";
    let windows = json!([{ "from": "09:30", "to": "10:30" }]);
    let calendar = json!({ "name": "noisy-hour", "mode": "EXCLUDE", "windows": windows });
    desk.ask(make, json!({ "input": calendar })).await;
    let input = json!({
        "name": "tick", "timing": { "expressions": ["@hourly"] }, "calendars": ["noisy-hour"],
        "task": { "target": { "noop": {} } },
    });
    let made = desk.ask(super::desk::CREATE, json!({ "input": input })).await;
    let id = made["createSchedule"]["schedule"]["id"].as_str().unwrap();
    let wanted = with(window(id, "09:00", "12:00"), json!({ "mode": "ALL" }));
    let preview = desk.ask(PREVIEW, wanted.clone()).await["previewBackfill"].take();
    let standings: Vec<&Value> = preview["fires"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fire| &fire["standing"])
        .collect();
    assert_eq!(standings, ["MISSING", "SUPPRESSED", "MISSING"]);
    assert_eq!((&preview["suppressed"], &preview["selected"]), (&json!(1), &json!(2)));
    let made = desk.ask(ORDER, wanted).await;
    assert_eq!(made["createBackfill"]["backfill"]["progress"]["total"], 2);
    // Somebody had it run by hand: it may run again.
    run_of(&desk, id, "10:00", "failed").await;
    let wanted = with(window(id, "10:00", "11:00"), json!({ "mode": "MISSING_AND_FAILED" }));
    assert_eq!(desk.ask(PREVIEW, wanted).await["previewBackfill"]["selected"], 1);
}

async fn what_is_so_long_ago_that_it_is_forgotten_runs_only_with_all(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@hourly").await;
    // 13:00 has a row that says why nothing ran; 11:00 was before there was the schedule.
    fire_at(&desk, &id, 13, 1, Verdict::Missed).await;
    desk.clock.advance(std::time::Duration::from_secs(60 * 24 * 3600));
    let query = "query($id: UUID!, $from: DateTime!, $to: DateTime!, $mode: BackfillMode!) {
        previewBackfill(scheduleId: $id, from: $from, to: $to, mode: $mode) {
            missing forgotten fires { standing selected } } }";
    let looked = async |mode: &str| {
        let variables = with(window(&id, "11:00", "15:00"), json!({ "mode": mode }));
        let mut answer = desk.ask(query, variables).await["previewBackfill"].take();
        let fires = answer["fires"].take();
        let fires = fires.as_array().unwrap().iter();
        let selected: Vec<_> =
            fires.map(|f| (f["standing"].clone(), f["selected"].clone())).collect();
        (answer["missing"].clone(), answer["forgotten"].clone(), selected)
    };
    let of = |standing: &str, selected: bool| (json!(standing), json!(selected));
    let (missing, forgotten, fires) = looked("MISSING").await;
    assert_eq!((missing, forgotten), (json!(2), json!(2)));
    assert_eq!(
        fires,
        [of("MISSING", true), of("FORGOTTEN", false), of("MISSING", true), of("FORGOTTEN", false)]
    );
    let (.., fires) = looked("ALL").await;
    assert!(fires.iter().all(|(_, selected)| *selected == json!(true)), "{fires:?}");
    // Whoever keeps more knows more.
    let keep = "mutation { setNamespaceRetention(namespace: \"default\", days: 90) { days } }";
    desk.ask(keep, json!({})).await;
    assert_eq!(looked("MISSING").await.0, json!(4));
}

async fn a_range_accounts_only_for_what_its_own_timing_named(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@hourly").await;
    fire_at(&desk, &id, 8, 3, Verdict::Missed).await;
    let edit = "mutation($id: UUID!) { updateSchedule(input: { id: $id, expectedVersion: 1,
        timing: { expressions: [\"*/30 * * * *\"] } }) { schedule { version } } }";
    desk.ask(edit, json!({ "id": id })).await;
    let preview = desk.ask(PREVIEW, window(&id, "08:30", "11:00")).await["previewBackfill"].take();
    let accounted: Vec<bool> = preview["fires"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fire| fire["fire"].is_object())
        .collect();
    // From 08:30 on: of these the old timing named 09:00 and 10:00.
    assert_eq!(accounted, [false, true, false, true, false]);
}

async fn what_the_planner_has_yet_to_claim_is_left_to_it(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@hourly").await;
    // Nobody plans here.
    desk.clock.advance(std::time::Duration::from_secs(2 * 3_600));
    run_of(&desk, &id, "13:00", "failed").await;
    let standings = async || {
        let wanted = with(window(&id, "11:00", "14:00"), json!({ "mode": "ALL" }));
        let preview = desk.ask(PREVIEW, wanted).await["previewBackfill"].take();
        let fires = preview["fires"]["nodes"].as_array().unwrap().iter();
        fires.map(|fire| fire["standing"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(standings().await, ["MISSING", "MISSING", "LIVE"]);
    let error = desk.refused(ORDER, window(&id, "13:00", "14:00")).await;
    assert_eq!(error["extensions"]["field"], "mode");
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": id })).await;
    assert_eq!(standings().await, ["MISSING", "MISSING", "FAILED"]);
}

async fn a_backfill_is_paused_resumed_and_cancelled_and_each_is_told(database: TestDatabase) {
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

/// When the fires of a page of a preview are, and whether there are more.
async fn preview_page(desk: &Desk, wanted: &Value, more: Value) -> (Vec<Value>, bool) {
    let answer = desk.ask(PREVIEW, with(wanted.clone(), more)).await;
    let fires = &answer["previewBackfill"]["fires"];
    let nodes = fires["nodes"].as_array().unwrap().iter();
    let times = nodes.map(|fire| fire["at"].clone()).collect();
    (times, fires["pageInfo"]["hasNextPage"] == true)
}

#[tokio::test]
async fn a_preview_is_read_page_by_page_and_by_what_became_of_its_fires() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let id = lived(&desk).await;
    let wanted = window(&id, "04:00", "12:00");
    let at = |hours: &[u32]| -> Vec<Value> {
        hours.iter().map(|hour| json!(format!("2026-03-01T{hour:02}:00:00Z"))).collect()
    };
    let mut after = Value::Null;
    let mut seen = Vec::new();
    for (hours, more) in [(&[4, 5, 6][..], true), (&[7, 8, 9], true), (&[10, 11], false)] {
        let page = json!({ "first": 3, "after": after });
        let answer = desk.ask(PREVIEW, with(wanted.clone(), page.clone())).await;
        after = answer["previewBackfill"]["fires"]["pageInfo"]["endCursor"].clone();
        let page = preview_page(&desk, &wanted, page).await;
        assert_eq!(page, (at(hours), more));
        seen.extend(page.0);
    }
    assert_eq!(seen.len(), 8);
    let live = preview_page(&desk, &wanted, json!({ "standing": "LIVE", "first": 1 })).await;
    assert_eq!(live, (at(&[9]), true));
    let missing = preview_page(&desk, &wanted, json!({ "standing": "MISSING" })).await;
    assert_eq!(missing, (at(&[4, 5, 11]), false));
    let error = desk.refused(PREVIEW, with(wanted, json!({ "after": "noon" }))).await;
    assert_eq!(error["extensions"]["field"], "after");
}

#[tokio::test]
async fn a_backfill_of_a_million_fires_is_told_the_limit_and_an_end_that_fits() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let id = desk.schedule("tick", "* * * * * *").await;
    let wanted = json!({
        "id": id, "from": "2026-02-17T00:00:00Z", "to": "2026-03-01T00:00:00Z", "reason": "x",
    });
    for query in [PREVIEW, ORDER] {
        let error = desk.refused(query, wanted.clone()).await;
        let extensions = &error["extensions"];
        assert_eq!(extensions["value"], "2026-03-01T00:00:00+00:00");
        assert_eq!(extensions["problem"], "the window holds 1036800 fires; the limit is 10000");
        assert_eq!(
            extensions["help"],
            "end it at 2026-02-17T02:46:40+00:00, or make several backfills"
        );
    }
    let within = with(wanted, json!({ "to": "2026-02-17T02:46:40Z" }));
    let preview = desk.ask(PREVIEW, within.clone()).await;
    assert_eq!(preview["previewBackfill"]["selected"], 10_000);
    // All of them can be looked at.
    let late = preview_page(&desk, &within, json!({ "first": 200 })).await;
    let after = (1_771_296_398_000_i64).to_string();
    let last = preview_page(&desk, &within, json!({ "first": 200, "after": after })).await;
    assert_eq!((late.0.len(), late.1), (200, true));
    assert_eq!((last.0.len(), last.1), (1, false));
    let made = desk.ask(ORDER, within).await;
    assert_eq!(made["createBackfill"]["backfill"]["progress"]["pending"], 10_000);
}

#[tokio::test]
async fn a_window_without_a_fire_is_previewed_and_not_ordered() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let id = desk.schedule("tick", "@daily").await;
    let wanted = window(&id, "01:00", "02:00");
    let preview = desk.ask(PREVIEW, wanted.clone()).await;
    assert_eq!(preview["previewBackfill"]["total"], 0);
    let error = desk.refused(ORDER, wanted).await;
    assert_eq!(error["extensions"]["problem"], "no fire is in the window");
    let every = desk.schedule("tock", "@every 1h").await;
    let error = desk.refused(ORDER, window(&every, "01:00", "12:00")).await;
    let help = "@every counts from 2026-03-01T12:00:00+00:00: end the window after that";
    assert_eq!(error["extensions"]["help"], help);
    let gone = window("00000000-0000-7000-8000-000000000009", "01:00", "02:00");
    assert_eq!(desk.refused(PREVIEW, gone).await["extensions"]["code"], "NOT_FOUND");
}

#[tokio::test]
async fn many_previews_in_one_request_are_refused() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let id = desk.schedule("tick", "* * * * * *").await;
    let many = |field: &str, count: usize| {
        let fields: String = (0..count).map(|index| format!("a{index}: {field} ")).collect();
        format!("query($id: UUID!, $from: DateTime!, $to: DateTime!) {{ {fields} }}")
    };
    let preview = "previewBackfill(scheduleId: $id, from: $from, to: $to) { total }";
    let wanted = window(&id, "11:00", "12:00");
    let answer = desk.ask(&many(preview, 2), wanted.clone()).await;
    assert_eq!(answer["a1"]["total"], 3_600);
    let one = "backfill(id: $id) { state }";
    desk.ask(&format!("query($id: UUID!) {{ {one} }}"), json!({ "id": id })).await;
    for (field, count) in [(preview, 12), (one, 600)] {
        let mut query = many(field, count);
        if field == one {
            query = query.replace(", $from: DateTime!, $to: DateTime!", "");
        }
        let error = desk.refused(&query, wanted.clone()).await;
        assert_eq!(error["message"], "Query is too complex.", "{field}: {error}");
    }
}
