use entity::{audit_event, fire, schedule};
use sea_orm::EntityTrait;
use serde_json::{Value, json};

use super::desk::{CREATE, Desk};
use crate::support::{TestDatabase, on_both};

on_both!(
    the_next_fires_are_skipped_at_once_with_who_asked_and_why,
    suppressed_fires_do_not_count_as_skipped,
    a_skip_that_is_repeated_skips_nothing_more,
    no_more_is_skipped_than_is_left,
);

const SKIP: &str = "mutation($id: UUID!, $count: Int!, $reason: String!, $key: String) {
    skipNext(id: $id, count: $count, reason: $reason, idempotencyKey: $key) {
        skippedAt schedule { version nextFireAt lastFireAt state } } }";

async fn ledger(desk: &Desk, id: &str) -> Value {
    let query = "query($id: UUID!) { fires(scheduleId: $id) { nodes {
        scheduledAt count verdict reason { code text } decidedAt } } }";
    let mut answer = desk.ask(query, json!({ "id": id })).await;
    answer["fires"]["nodes"].take()
}

async fn the_next_fires_are_skipped_at_once_with_who_asked_and_why(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let answer = desk.ask(SKIP, json!({ "id": id, "count": 2, "reason": " maintenance " })).await;
    assert_eq!(
        answer["skipNext"],
        json!({
            "skippedAt": ["2026-03-02T02:00:00Z", "2026-03-03T02:00:00Z"],
            "schedule": {
                "version": 1, "state": "ACTIVE",
                "nextFireAt": "2026-03-04T02:00:00Z", "lastFireAt": "2026-03-03T02:00:00Z",
            },
        })
    );
    let row = |at: &str| {
        json!({
            "scheduledAt": at, "count": 1, "verdict": "SKIPPED",
            "decidedAt": "2026-03-01T12:00:00Z",
            "reason": { "code": "BY_REQUEST", "text": "Skipped by request of ada: maintenance." },
        })
    };
    let rows = ledger(&desk, &id).await;
    assert_eq!(rows, json!([row("2026-03-03T02:00:00Z"), row("2026-03-02T02:00:00Z")]));
    let entries = audit_event::Entity::find().all(desk.database.store.read()).await.unwrap();
    let entry = entries.iter().find(|entry| entry.action == "schedule.skip_next").unwrap();
    assert_eq!(entry.after.as_ref().unwrap()["count"], 2);
    // A second call skips the fires after those that are already skipped.
    let answer = desk.ask(SKIP, json!({ "id": id, "count": 1, "reason": "x" })).await;
    assert_eq!(answer["skipNext"]["skippedAt"], json!(["2026-03-04T02:00:00Z"]));
}

async fn suppressed_fires_do_not_count_as_skipped(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let make = "mutation { createCalendar(input: { name: \"days-off\", mode: EXCLUDE,
        weekdays: [MON, TUE] }) { calendar { id } } }";
    desk.ask(make, json!({})).await;
    let input = json!({
        "name": "hourly", "timing": { "expressions": ["0 */6 * * *"] },
        "task": { "target": { "noop": {} } }, "calendars": ["days-off"],
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let id = made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned();
    let answer = desk.ask(SKIP, json!({ "id": id, "count": 2, "reason": "x" })).await;
    assert_eq!(
        answer["skipNext"]["skippedAt"],
        json!(["2026-03-01T18:00:00Z", "2026-03-04T00:00:00Z"])
    );
    assert_eq!(answer["skipNext"]["schedule"]["nextFireAt"], "2026-03-04T06:00:00Z");
    let rows = ledger(&desk, &id).await;
    let told: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["reason"]["code"].as_str().unwrap(), row["count"].as_i64().unwrap()))
        .collect();
    assert_eq!(told, [("BY_REQUEST", 1), ("CALENDAR", 8), ("BY_REQUEST", 1)]);
}

async fn a_skip_that_is_repeated_skips_nothing_more(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let order = json!({ "id": id, "count": 1, "reason": "x", "key": "once" });
    let first = desk.ask(SKIP, order.clone()).await;
    assert_eq!(desk.ask(SKIP, order).await, first);
    let fires = fire::Entity::find().all(desk.database.store.read()).await.unwrap();
    assert_eq!(fires.len(), 1);
}

async fn no_more_is_skipped_than_is_left(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("once", "@at 2026-03-05T00:00:00Z").await;
    let order = json!({ "id": id, "count": 100, "reason": "x" });
    let answer = desk.ask(SKIP, order.clone()).await;
    assert_eq!(answer["skipNext"]["skippedAt"], json!(["2026-03-05T00:00:00Z"]));
    assert_eq!(answer["skipNext"]["schedule"]["state"], "FINISHED");
    let error = desk.refused(SKIP, order).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");

    let paused = desk.schedule("paused", "@daily").await;
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": paused })).await;
    let order =
        |count: i64, reason: &str| json!({ "id": paused, "count": count, "reason": reason });
    let error = desk.refused(SKIP, order(1, "x")).await;
    assert_eq!(error["extensions"]["code"], "CONFLICT", "{error}");
    for (field, order) in
        [("count", order(0, "x")), ("count", order(101, "x")), ("reason", order(1, " "))]
    {
        let error = desk.refused(SKIP, order).await;
        assert_eq!(error["extensions"]["field"], field, "{error}");
    }
    let rows = schedule::Entity::find().all(desk.database.store.read()).await.unwrap();
    assert_eq!(rows.len(), 2);
}
