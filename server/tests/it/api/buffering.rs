//! The buffer as operators see it: listed, reordered, purged.

use entity::{
    audit_event,
    fire::{self, Reason},
    user::Role,
};
use sea_orm::{ActiveModelTrait, EntityTrait, IntoActiveModel};
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::{CREATE, Desk, noon};
use crate::support::{TestDatabase, fire_row, on_both};

on_both!(
    the_buffer_is_listed_in_its_order_and_reordered,
    a_purged_fire_says_who_took_it_out,
    a_fire_that_does_not_wait_is_refused_and_nothing_changes,
);

const BUFFER: &str = "query($id: UUID!) { schedule(id: $id) {
    bufferSize buffer { id verdict reason { code text } } } }";
const REORDER: &str = "mutation($id: UUID!, $fires: [UUID!]!) {
    reorderBuffer(scheduleId: $id, fireIds: $fires) { schedule { buffer { id } } } }";
const PURGE: &str = "mutation($id: UUID!, $fires: [UUID!], $key: String) {
    purgeBuffer(scheduleId: $id, fireIds: $fires, idempotencyKey: $key) {
        purged schedule { bufferSize } } }";

/// A schedule with three waiting fires.
async fn buffered(desk: &Desk) -> (String, Vec<String>) {
    let input = json!({
        "name": "busy",
        "timing": { "expressions": ["@hourly"] },
        "task": { "target": { "noop": {} } },
        "overlap": "BUFFER_ALL",
    });
    let made = desk.ask(CREATE, json!({ "input": input })).await;
    let schedule = made["createSchedule"]["schedule"]["id"].as_str().unwrap().to_owned();
    let tx = desk.database.store.begin().await.unwrap();
    let mut fires = Vec::new();
    for place in 1..=3 {
        let at = (noon() - chrono::TimeDelta::hours(4 - place)).into();
        let row = fire::Model {
            reason: Reason::Buffered,
            detail: Some("0192".to_owned()),
            queue_position: Some(place),
            ..fire_row(Uuid::nil(), schedule.parse().unwrap(), at)
        };
        fires.push(row.id.to_string());
        row.into_active_model().insert(&tx).await.unwrap();
    }
    desk.database.store.commit(tx).await.unwrap();
    (schedule, fires)
}

async fn waiting(desk: &Desk, schedule: &str) -> Vec<String> {
    let answer = desk.ask(BUFFER, json!({ "id": schedule })).await;
    ids(&answer["schedule"]["buffer"])
}

fn ids(fires: &Value) -> Vec<String> {
    let fires = fires.as_array().unwrap().iter();
    fires.map(|fire| fire["id"].as_str().unwrap().to_owned()).collect()
}

async fn the_buffer_is_listed_in_its_order_and_reordered(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (schedule, fires) = buffered(&desk).await;
    let answer = desk.ask(BUFFER, json!({ "id": schedule })).await;
    assert_eq!(answer["schedule"]["bufferSize"], 3);
    let first = &answer["schedule"]["buffer"][0];
    assert_eq!(
        (&first["verdict"], &first["reason"]["code"]),
        (&json!("PENDING"), &json!("BUFFERED"))
    );
    // The run that blocked the fire is no longer live, so the answer does not name it.
    assert_eq!(
        first["reason"]["text"],
        "Waits for its turn: the fires of this schedule run one at a time."
    );
    assert_eq!(ids(&answer["schedule"]["buffer"]), fires);

    // The fires given in the call come first; the rest keep their order.
    let order = json!({ "id": schedule, "fires": [fires[2]] });
    let answer = desk.ask(REORDER, order).await;
    let expected = [&fires[2], &fires[0], &fires[1]].map(Clone::clone);
    assert_eq!(ids(&answer["reorderBuffer"]["schedule"]["buffer"]), expected);
    assert_eq!(waiting(&desk, &schedule).await, expected);
    let entries = audit_event::Entity::find().all(desk.database.store.read()).await.unwrap();
    let entry = entries.iter().find(|entry| entry.action == "buffer.reorder").unwrap();
    assert_eq!((entry.actor.as_str(), entry.subject.as_str()), ("ada", "busy"));
}

async fn a_purged_fire_says_who_took_it_out(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (schedule, fires) = buffered(&desk).await;
    let one = json!({ "id": schedule, "fires": [fires[1]], "key": "once" });
    for _ in 0..2 {
        let answer = desk.ask(PURGE, one.clone()).await;
        assert_eq!(answer["purgeBuffer"]["purged"], json!([fires[1]]));
    }
    assert_eq!(waiting(&desk, &schedule).await, [fires[0].clone(), fires[2].clone()]);
    let ledger = "query($id: UUID!) { fires(scheduleId: $id) { nodes {
        id verdict reason { code text } decidedAt } } }";
    let answer = desk.ask(ledger, json!({ "id": schedule })).await;
    let rows = answer["fires"]["nodes"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == json!(fires[1])).unwrap();
    assert_eq!((&row["verdict"], &row["reason"]["code"]), (&json!("SKIPPED"), &json!("PURGED")));
    assert_eq!(row["reason"]["text"], "Skipped: ada took it out of the buffer.");
    assert_eq!(row["decidedAt"], "2026-03-01T12:00:00Z");

    let all = desk.ask(PURGE, json!({ "id": schedule })).await;
    assert_eq!(all["purgeBuffer"]["purged"].as_array().unwrap().len(), 2);
    assert_eq!(all["purgeBuffer"]["schedule"]["bufferSize"], 0);
    let entries = audit_event::Entity::find().all(desk.database.store.read()).await.unwrap();
    let purges = entries.iter().filter(|entry| entry.action == "buffer.purge").count();
    assert_eq!(purges, 2);
}

async fn a_fire_that_does_not_wait_is_refused_and_nothing_changes(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let (schedule, fires) = buffered(&desk).await;
    let unknown = Uuid::from_u128(9).to_string();
    let many: Vec<String> = (0..1_001).map(|key| Uuid::from_u128(key).to_string()).collect();
    let cases = [
        (json!([fires[0], unknown]), "fireIds[1]"),
        (json!([fires[0], fires[0]]), "fireIds[1]"),
        (json!([]), "fireIds"),
        (json!(many), "fireIds"),
    ];
    for (named, field) in cases {
        for mutation in [PURGE, REORDER] {
            let variables = json!({ "id": schedule, "fires": named });
            let error = desk.refused(mutation, variables).await;
            assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error}");
            assert_eq!(error["extensions"]["field"], field, "{error}");
        }
    }
    assert_eq!(waiting(&desk, &schedule).await, fires);
    let variables = json!({ "id": schedule });
    let error = desk.refused_as(Some(Role::Viewer), PURGE, variables).await;
    assert_eq!(error["extensions"]["code"], "FORBIDDEN");
}
