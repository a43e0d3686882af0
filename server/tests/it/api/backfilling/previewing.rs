use chrono::{DateTime, Utc};
use entity::fire::Verdict;
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use super::{
    super::desk::{self, Desk},
    ORDER, PREVIEW, fire_at, lived, run_of, window, with, write,
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_preview_shows_the_standing_of_each_instant,
    a_backfill_runs_the_instants_of_its_preview,
    a_backfill_does_not_run_suppressed_instants,
    instants_suppressed_by_a_corrected_calendar_can_be_backfilled,
    forgotten_instants_run_only_with_mode_all,
    a_range_accounts_only_for_instants_of_its_own_timing,
    unclaimed_instants_are_left_to_the_planner,
);

async fn a_preview_shows_the_standing_of_each_instant(database: TestDatabase) {
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

async fn a_backfill_runs_the_instants_of_its_preview(database: TestDatabase) {
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

async fn a_backfill_does_not_run_suppressed_instants(database: TestDatabase) {
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
    let made = desk.ask(desk::CREATE, json!({ "input": input })).await;
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
    // A run by hand exists for this instant; the backfill may run the instant again.
    run_of(&desk, id, "10:00", "failed").await;
    let wanted = with(window(id, "10:00", "11:00"), json!({ "mode": "MISSING_AND_FAILED" }));
    assert_eq!(desk.ask(PREVIEW, wanted).await["previewBackfill"]["selected"], 1);
}

/// Nothing has been claimed since nine. Instants that are still to be claimed use the calendar that
/// was in force at their time.
async fn instants_suppressed_by_a_corrected_calendar_can_be_backfilled(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let make = "mutation($input: CreateCalendarInput!) {
        createCalendar(input: $input) { calendar { id } } }";
    let windows = json!([{ "from": "09:30", "to": "10:30" }]);
    let calendar = json!({ "name": "noisy-hour", "mode": "EXCLUDE", "windows": windows });
    let made = desk.ask(make, json!({ "input": calendar })).await;
    let calendar = &made["createCalendar"]["calendar"]["id"];
    let input = json!({
        "name": "tick", "timing": { "expressions": ["@hourly"] }, "calendars": ["noisy-hour"],
        "task": { "target": { "noop": {} } },
    });
    let made = desk.ask(desk::CREATE, json!({ "input": input })).await;
    let id = made["createSchedule"]["schedule"]["id"].as_str().unwrap();
    let nine = "2026-03-01T09:00:00Z".parse::<DateTime<Utc>>().unwrap().timestamp_millis();
    write(&desk, "UPDATE schedule SET next_scheduled_at = $1", vec![nine.into()]).await;
    let mend = "mutation($input: UpdateCalendarInput!) {
        updateCalendar(input: $input) { calendar { version } } }";
    let windows = json!([{ "from": "21:30", "to": "22:30" }]);
    let edit = json!({ "id": calendar, "expectedVersion": 1, "windows": windows });
    desk.ask(mend, json!({ "input": edit })).await;
    let preview = desk.ask(PREVIEW, window(id, "09:00", "12:00")).await["previewBackfill"].take();
    let fires = preview["fires"]["nodes"].as_array().unwrap().iter();
    let standings: Vec<_> = fires.map(|fire| fire["standing"].as_str().unwrap()).collect();
    assert_eq!(standings, ["LIVE", "MISSING", "LIVE"]);
}

async fn forgotten_instants_run_only_with_mode_all(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@hourly").await;
    // 13:00 has a row that explains why nothing ran; 11:00 was before the schedule existed.
    fire_at(&desk, &id, 13, 1, Verdict::Missed).await;
    desk.clock.advance(std::time::Duration::from_secs(60 * 24 * 3600));
    // The planner has been active ever since nine.
    let now = desk.clock.now().timestamp_millis();
    write(&desk, "UPDATE schedule SET next_scheduled_at = $1", vec![now.into()]).await;
    let query = "query($id: UUID!, $from: DateTime!, $to: DateTime!, $mode: BackfillMode!) {
        previewBackfill(scheduleId: $id, from: $from, to: $to, mode: $mode) {
            missing forgotten fires { nodes { standing selected } } } }";
    let looked = async |mode: &str| {
        let variables = with(window(&id, "11:00", "15:00"), json!({ "mode": mode }));
        let mut answer = desk.ask(query, variables).await["previewBackfill"].take();
        let fires = answer["fires"]["nodes"].take();
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
    // With a longer retention, the preview knows more about old instants.
    let keep = "mutation { setNamespaceRetention(namespace: \"default\", days: 90) { days } }";
    desk.ask(keep, json!({})).await;
    assert_eq!(looked("MISSING").await.0, json!(4));
}

async fn a_range_accounts_only_for_instants_of_its_own_timing(database: TestDatabase) {
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
    // The backfill's instants from 08:30 on; the old timing produced 09:00 and 10:00.
    assert_eq!(accounted, [false, true, false, true, false]);
}

async fn unclaimed_instants_are_left_to_the_planner(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@hourly").await;
    // No planner runs in this test.
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

/// The times of the fires on a page of a preview, and whether there are more pages.
async fn preview_page(desk: &Desk, wanted: &Value, more: Value) -> (Vec<Value>, bool) {
    let answer = desk.ask(PREVIEW, with(wanted.clone(), more)).await;
    let fires = &answer["previewBackfill"]["fires"];
    let nodes = fires["nodes"].as_array().unwrap().iter();
    let times = nodes.map(|fire| fire["at"].clone()).collect();
    (times, fires["pageInfo"]["hasNextPage"] == true)
}

#[tokio::test]
async fn a_preview_is_read_page_by_page_and_filtered_by_standing() {
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
async fn a_backfill_of_a_million_fires_is_refused_with_the_limit_and_a_valid_end() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let id = desk.schedule("tick", "* * * * * *").await;
    let wanted = json!({
        "id": id, "from": "2026-02-17T00:00:00Z", "to": "2026-03-01T00:00:00Z", "reason": "x",
    });
    for query in [PREVIEW, ORDER] {
        let error = desk.refused(query, wanted.clone()).await;
        let extensions = &error["extensions"];
        assert_eq!(extensions["value"], "2026-03-01T00:00:00+00:00");
        assert_eq!(extensions["problem"], "the window contains 1036800 fires; the limit is 10000");
        assert_eq!(
            extensions["help"],
            "end it at 2026-02-17T02:46:40+00:00, or create several backfills"
        );
    }
    let within = with(wanted, json!({ "to": "2026-02-17T02:46:40Z" }));
    let preview = desk.ask(PREVIEW, within.clone()).await;
    assert_eq!(preview["previewBackfill"]["selected"], 10_000);
    // The page is large enough for all late fires.
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
    let by_number = "the request has 600 aliases";
    for (field, count, problem) in
        [(preview, 12, "the request is too complex: it costs "), (one, 600, by_number)]
    {
        let mut query = many(field, count);
        if field == one {
            query = query.replace(", $from: DateTime!, $to: DateTime!", "");
        }
        let error = desk.refused(&query, wanted.clone()).await;
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(problem), "{field}: {error}");
    }
}
