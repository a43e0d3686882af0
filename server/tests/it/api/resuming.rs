use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(a_resume_does_exactly_what_its_preview_said, what_is_not_paused_has_nothing_to_resume,);

const PREVIEW: &str = "query($id: UUID!) { resumePreview(id: $id) { at paused choices {
    missed runs others rowCount nextFireAt
    rows { scheduledAt lastScheduledAt count verdict reason detail } } } }";
const RESUME: &str = "mutation($id: UUID!, $missed: CatchUp!) {
    resumeSchedule(id: $id, missed: $missed) { schedule { nextFireAt } } }";

/// The ledger in the words of the preview.
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
        let mut rows = choice["rows"].as_array().unwrap().clone();
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
            // Three fires are left: the last of the four that would run is none any more.
            _ => (3, Value::Null),
        };
        assert_eq!((choice["runs"].as_i64().unwrap(), choice["nextFireAt"].clone()), expected);
    }
}

async fn what_is_not_paused_has_nothing_to_resume(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "* * * * *").await;
    desk.clock.set("2026-03-01T15:10:00Z".parse().unwrap());
    let preview = desk.ask(PREVIEW, json!({ "id": id })).await;
    assert_eq!(preview["resumePreview"]["paused"], false);
    assert_eq!(preview["resumePreview"]["choices"], json!([]));
    let missing = json!({ "id": uuid::Uuid::nil() });
    assert_eq!(desk.refused(PREVIEW, missing).await["extensions"]["code"], "NOT_FOUND");
}
