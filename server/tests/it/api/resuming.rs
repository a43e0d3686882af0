use chrono::SecondsFormat;
use entity::{Timestamp, fire};
use sea_orm::{EntityTrait, QueryOrder};
use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_resume_does_exactly_what_its_preview_said,
    a_long_resume_is_read_page_by_page,
    a_resume_promises_no_run_that_its_deadline_forbids,
    what_a_long_pause_leaves_is_counted_exactly,
    a_schedule_that_is_not_paused_has_nothing_to_resume,
);

const PREVIEW: &str = "query($id: UUID!) { resumePreview(id: $id) { at paused choices {
    missed runs others rowCount nextFireAt
    rows { nodes { scheduledAt lastScheduledAt count verdict reason detail } } } } }";
const PAGE: &str = "query($id: UUID!, $at: DateTime, $after: String) {
    resumePreview(id: $id, at: $at) { at choices { rowCount rows(first: 200, after: $after) {
        nodes { scheduledAt count } pageInfo { hasPreviousPage hasNextPage endCursor } } } } }";
const RESUME: &str = "mutation($id: UUID!, $missed: CatchUp!) {
    resumeSchedule(id: $id, missed: $missed) { schedule { nextFireAt } } }";

/// The ledger in the format of the preview.
async fn ledger(desk: &Desk, id: &str) -> Vec<Value> {
    let query = "query($id: UUID!) { fires(scheduleId: $id) { nodes {
        scheduledAt lastScheduledAt count verdict reason { code } } } }";
    let answer = desk.ask(query, json!({ "id": id })).await;
    let mut rows = answer["fires"]["nodes"].as_array().unwrap().clone();
    rows.reverse();
    for row in &mut rows {
        row["reason"] = row["reason"]["code"].take();
    }
    rows
}

async fn a_resume_does_exactly_what_its_preview_said(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let make = "mutation { createCalendar(input: { name: \"lunch\", mode: EXCLUDE,
        windows: [{ from: \"13:00\", to: \"14:00\" }] }) { calendar { id } } }";
    desk.ask(make, json!({})).await;
    let mut ids = vec![];
    for name in ["SKIP", "LATEST", "ALL"] {
        let input = json!({
            "name": name, "timing": { "expressions": ["*/20 * * * *"] },
            "task": { "target": { "noop": {} } }, "calendars": ["lunch"],
            "misfire": { "max": 4 }, "maxFires": 3,
        });
        let made = desk.ask(CREATE, json!({ "input": input })).await;
        let id = made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned();
        let pause = "mutation($id: UUID!) {
            pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
        desk.ask(pause, json!({ "id": id })).await;
        ids.push((name, id));
    }
    desk.clock.set("2026-03-01T15:10:00Z".parse().unwrap());
    for (index, (missed, id)) in ids.iter().enumerate() {
        let preview = desk.ask(PREVIEW, json!({ "id": id })).await["resumePreview"].take();
        assert_eq!(preview["at"], "2026-03-01T15:10:00Z");
        assert_eq!(preview["paused"], true);
        let choice = &preview["choices"][index];
        assert_eq!(choice["missed"], *missed);
        let mut rows = choice["rows"]["nodes"].as_array().unwrap().clone();
        assert_eq!(choice["rowCount"], rows.len());
        let pending = |row: &&Value| row["verdict"] == "PENDING";
        assert_eq!(choice["runs"], rows.iter().filter(pending).count());
        let suppressed: Vec<_> = rows.iter().filter(|row| row["reason"] == "CALENDAR").collect();
        assert!(suppressed.iter().all(|row| row["detail"] == "lunch"));
        assert_eq!(suppressed.iter().map(|row| row["count"].as_i64().unwrap()).sum::<i64>(), 3);
        for row in &mut rows {
            row.as_object_mut().unwrap().remove("detail");
        }
        let resumed = desk.ask(RESUME, json!({ "id": id, "missed": missed })).await;
        assert_eq!(ledger(&desk, id).await, rows);
        assert_eq!(resumed["resumeSchedule"]["schedule"]["nextFireAt"], choice["nextFireAt"]);
        let expected = match *missed {
            "SKIP" => (0, json!("2026-03-01T15:20:00Z")),
            "LATEST" => (1, json!("2026-03-01T15:20:00Z")),
            // The schedule may fire three more times, so the last of the four fires does not run.
            _ => (3, Value::Null),
        };
        assert_eq!((choice["runs"].as_i64().unwrap(), choice["nextFireAt"].clone()), expected);
    }
}

async fn a_long_resume_is_read_page_by_page(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let input = json!({
        "name": "often", "timing": { "expressions": ["* * * * *"] },
        "task": { "target": { "noop": {} } }, "misfire": { "max": 500 },
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = &made["createSchedule"]["schedule"]["id"];
    let pause = "mutation($id: UUID!) {
        pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": id })).await;
    let end = "2026-03-01T22:00:00Z";
    desk.clock.set(end.parse().unwrap());
    let (mut rows, mut variables) = (Vec::new(), json!({ "id": id }));
    for place in 0..3 {
        let answer = desk.ask(PAGE, variables.clone()).await["resumePreview"].take();
        assert_eq!(answer["at"], end);
        let all = &answer["choices"][2];
        assert_eq!(all["rowCount"], 501);
        let info = &all["rows"]["pageInfo"];
        assert_eq!(
            (&info["hasPreviousPage"], &info["hasNextPage"]),
            (&json!(place > 0), &json!(place < 2))
        );
        rows.extend(all["rows"]["nodes"].as_array().unwrap().iter().cloned());
        // The next page continues the list of the first page, although an hour has passed.
        desk.clock.advance(std::time::Duration::from_secs(3_600));
        variables = json!({ "id": id, "at": answer["at"], "after": info["endCursor"] });
    }
    assert_eq!((rows.len(), &rows[0]["count"]), (501, &json!(100)));
    desk.clock.set(end.parse().unwrap());
    desk.ask(RESUME, json!({ "id": id, "missed": "ALL" })).await;
    let ledger = fire::Entity::find().order_by_asc(fire::Column::ScheduledAt);
    let ledger = ledger.all(desk.database.store.read()).await.unwrap();
    let written: Vec<Value> = ledger
        .iter()
        .map(|fire| json!({ "scheduledAt": fire.scheduled_at.utc(), "count": fire.count }))
        .collect();
    assert_eq!(written, rows);

    desk.ask(pause, json!({ "id": id })).await;
    for at in ["2026-03-01T21:59:59Z", "2028-01-01T00:00:00Z"] {
        let error = desk.refused(PAGE, json!({ "id": id, "at": at })).await;
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
        assert_eq!(error["extensions"]["field"], "at", "{error}");
    }
}

/// An hourly schedule that is paused from noon on; returns its key.
async fn paused(desk: &Desk, more: Value) -> String {
    let mut input = json!({
        "name": "paused", "timing": { "expressions": ["0 * * * *"] },
        "task": { "target": { "noop": {} } },
    });
    for (key, value) in more.as_object().unwrap() {
        input[key] = value.clone();
    }
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned();
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": id })).await;
    id
}

async fn a_resume_promises_no_run_that_its_deadline_forbids(database: TestDatabase) {
    let desk = Desk::open(database).await;
    // The schedule may fire once more: an instant past its deadline must not use up that fire.
    let more = json!({ "startDeadlineSeconds": 60, "maxFires": 1 });
    let id = paused(&desk, more).await;
    desk.clock.set("2026-03-01T17:00:30Z".parse().unwrap());
    let preview = desk.ask(PREVIEW, json!({ "id": id })).await["resumePreview"].take();
    let all = &preview["choices"][2];
    assert_eq!(
        (&all["missed"], &all["runs"], &all["others"]),
        (&json!("ALL"), &json!(1), &json!(4))
    );
    let mut rows = all["rows"]["nodes"].as_array().unwrap().clone();
    let fate = |row: &Value| format!("{} {}", row["verdict"], row["reason"]).replace('"', "");
    let mut expected = vec!["SKIPPED DEADLINE"; 4];
    expected.push("PENDING AWAITING_HANDOFF");
    assert_eq!(rows.iter().map(fate).collect::<Vec<_>>(), expected);
    for row in &mut rows {
        row.as_object_mut().unwrap().remove("detail");
    }
    desk.ask(RESUME, json!({ "id": id, "missed": "ALL" })).await;
    assert_eq!(ledger(&desk, &id).await, rows);
    let count = "query($id: UUID!) { schedule(id: $id) { fireCount } }";
    assert_eq!(desk.ask(count, json!({ "id": id })).await["schedule"]["fireCount"], 1);
}

/// The pause leaves more rows than one transaction writes, and more than a page shows.
async fn what_a_long_pause_leaves_is_counted_exactly(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let time = |minute: i32| format!("{:02}:{:02}", minute / 60, minute % 60);
    let window = |n: i32| json!({ "from": time(n * 14), "to": time(n * 14 + 8) });
    let windows: Vec<_> = (0..100).map(window).collect();
    let make = "mutation($windows: [CalendarWindowInput!]!) { createCalendar(input: {
        name: \"windows\", mode: EXCLUDE, windows: $windows }) { calendar { id } } }";
    desk.ask(make, json!({ "windows": windows })).await;
    let more = json!({ "timing": { "expressions": ["* * * * *"] }, "calendars": ["windows"] });
    let id = paused(&desk, more).await;
    desk.clock.set("2026-03-10T12:05:30Z".parse().unwrap());
    let preview = desk.ask(PREVIEW, json!({ "id": id })).await["resumePreview"].take();
    let latest = &preview["choices"][1];
    assert_eq!((&latest["missed"], &latest["runs"]), (&json!("LATEST"), &json!(1)));
    assert_eq!(latest["others"], 9 * 1_440 + 4, "each minute of the pause but the latest");
    let resumed = desk.ask(RESUME, json!({ "id": id, "missed": "LATEST" })).await;
    assert_eq!(resumed["resumeSchedule"]["schedule"]["nextFireAt"], latest["nextFireAt"]);
    let read = desk.database.store.read();
    let written = fire::Entity::find().order_by_asc(fire::Column::ScheduledAt).all(read);
    let written = written.await.unwrap();
    assert!(written.len() > 1_700, "{} rows", written.len());
    assert_eq!(latest["rowCount"], written.len());
    let shown = latest["rows"]["nodes"].as_array().unwrap();
    assert_eq!(shown.len(), 50);
    for (shown, written) in shown.iter().zip(&written) {
        assert_eq!(shown["scheduledAt"], json!(instant(written.scheduled_at)));
        assert_eq!(shown["count"], written.count);
    }
}

fn instant(at: Timestamp) -> String {
    at.utc().to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

async fn a_schedule_that_is_not_paused_has_nothing_to_resume(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "* * * * *").await;
    desk.clock.set("2026-03-01T15:10:00Z".parse().unwrap());
    let preview = desk.ask(PREVIEW, json!({ "id": id })).await;
    assert_eq!(preview["resumePreview"]["paused"], false);
    assert_eq!(preview["resumePreview"]["choices"], json!([]));
    let missing = json!({ "id": uuid::Uuid::nil() });
    assert_eq!(desk.refused(PREVIEW, missing).await["extensions"]["code"], "NOT_FOUND");
}
