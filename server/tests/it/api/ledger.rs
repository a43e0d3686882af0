use entity::{
    Timestamp,
    fire::{self, Kind, Reason, Verdict},
};
use sea_orm::{ActiveModelTrait, IntoActiveModel};
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::{Desk, noon};
use crate::support::{TestDatabase, on_both};

on_both!(a_ledger_is_read_newest_first_and_counted);

async fn a_ledger_is_read_newest_first_and_counted(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("tick", "@hourly").await;
    let schedule: Uuid = id.parse().unwrap();
    let tx = desk.database.store.begin().await.unwrap();
    let verdicts = [
        (Verdict::Skipped, Reason::Overlap),
        (Verdict::Missed, Reason::Outage),
        (Verdict::Skipped, Reason::Deadline),
        (Verdict::Pending, Reason::AwaitingHandoff),
    ];
    for (hours, (verdict, reason)) in (1..).zip(verdicts) {
        let at = Timestamp::from(noon() - chrono::TimeDelta::hours(hours));
        let row = fire::Model {
            id: Uuid::now_v7(),
            namespace_id: Uuid::nil(),
            schedule_id: schedule,
            schedule_version: 1,
            scheduled_at: at,
            due_at: at,
            last_scheduled_at: at,
            count: if verdict == Verdict::Missed { 7 } else { 1 },
            kind: Kind::Normal,
            verdict,
            reason,
            detail: None,
            claimed_by: None,
            claimed_at: Timestamp(at.0 + 61_000),
            decided_at: None,
            run_id: None,
            queue_position: None,
            recovery_attempts: 0,
            recovery_at: None,
            made_up_for: None,
        };
        row.into_active_model().insert(&tx).await.unwrap();
    }
    desk.database.store.commit(tx).await.unwrap();

    let query = "query($id: UUID!, $filter: FireFilter, $first: Int, $after: String) {
        fires(scheduleId: $id, filter: $filter, first: $first, after: $after) {
            nodes { scheduledAt verdict reason { text } run { id } } pageInfo { endCursor hasNextPage } }
        schedule(id: $id) { tally { succeeded failed running skipped missed } } }";
    let page = desk.ask(query, json!({ "id": id, "first": 2 })).await;
    assert_eq!(verdicts_of(&page), ["SKIPPED", "MISSED"]);
    assert_eq!(
        page["fires"]["nodes"][1]["reason"]["text"],
        "7 fires were missed: no scheduler claimed it for 1 min 1 s."
    );
    let after = &page["fires"]["pageInfo"]["endCursor"];
    let rest = desk.ask(query, json!({ "id": id, "first": 2, "after": after })).await;
    assert_eq!(verdicts_of(&rest), ["SKIPPED", "PENDING"]);
    assert_eq!(rest["fires"]["pageInfo"]["hasNextPage"], false);
    let filter = json!({ "verdicts": ["SKIPPED"], "before": "2026-03-01T11:00:00Z" });
    let some = desk.ask(query, json!({ "id": id, "filter": filter })).await;
    assert_eq!(some["fires"]["nodes"][0]["scheduledAt"], "2026-03-01T09:00:00Z");
    assert_eq!(
        some["schedule"]["tally"],
        json!({ "succeeded": 0, "failed": 0, "running": 1, "skipped": 2, "missed": 7 })
    );
}

fn verdicts_of(answer: &Value) -> Vec<&str> {
    let nodes = answer["fires"]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["verdict"].as_str().unwrap()).collect()
}
