use std::collections::{BTreeMap, HashSet};

use carillon::store::{Cursor, logs::NewChunk};
use entity::{Timestamp, run, schedule, task_log::Stream};
use futures::{StreamExt, stream::BoxStream};
use sea_orm::EntityTrait;
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::Desk;
use crate::support::{TestDatabase, on_both};

on_both!(
    a_follower_of_runs_that_goes_and_comes_back_misses_nothing_and_sees_nothing_twice,
    a_log_is_followed_to_its_end_however_often_the_follower_leaves,
    a_follower_of_schedules_sees_them_made_changed_and_deleted,
);

const RUNS: &str = "subscription($since: String, $runId: UUID) {
    runEvents(since: $since, runId: $runId) { cursor run { id state } } }";

type Events = BoxStream<'static, async_graphql::Response>;

async fn next(events: &mut Events) -> Option<Value> {
    let response = events.next().await?;
    assert!(response.errors.is_empty(), "{:?}", response.errors);
    Some(response.data.into_json().unwrap())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

async fn a_follower_of_runs_that_goes_and_comes_back_misses_nothing_and_sees_nothing_twice(
    database: TestDatabase,
) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("tick", "@daily").await;
    let writing = async {
        for number in 0..60 {
            let id = desk.trigger(&schedule).await;
            if number % 3 == 0 {
                let cancel = "mutation($id: UUID!) { cancelRun(id: $id) { run { id } } }";
                desk.ask(cancel, json!({ "id": id })).await;
            }
        }
    };
    let following = async {
        let mut since = Cursor::START.to_string();
        let mut seen = HashSet::new();
        let mut last: BTreeMap<String, String> = BTreeMap::new();
        let mut random = 42_u32;
        // The writer's last run is not cancelled: everything is complete with 60 runs, and the 20
        // cancelled ones are in their last state.
        while last.len() < 60 || last.values().filter(|state| *state == "CANCELLED").count() < 20 {
            let mut events = desk.subscribe(RUNS, json!({ "since": since }));
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            for _ in 0..1 + (random >> 16) % 7 {
                let event = next(&mut events).await.unwrap();
                let event = &event["runEvents"];
                since = text(&event["cursor"]);
                assert!(seen.insert(since.clone()), "seen twice: {event}");
                last.insert(text(&event["run"]["id"]), text(&event["run"]["state"]));
                let cancelled = last.values().filter(|state| *state == "CANCELLED").count();
                if last.len() == 60 && cancelled == 20 {
                    break;
                }
            }
        }
        last
    };
    let ((), last) = tokio::join!(writing, following);
    let rows = run::Entity::find().all(desk.database.store.read()).await.unwrap();
    for row in rows {
        let state = serde_json::to_value(sea_orm::ActiveEnum::to_value(&row.state)).unwrap();
        assert_eq!(last[&row.id.to_string()], text(&state).to_uppercase());
    }
}

async fn a_log_is_followed_to_its_end_however_often_the_follower_leaves(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("tick", "@daily").await;
    let run = desk.trigger(&schedule).await;
    let run_id: Uuid = run.parse().unwrap();
    let writing = async {
        for seq in 0..500_i64 {
            let line = NewChunk {
                run_id,
                seq,
                task: "main".to_owned(),
                attempt: 1,
                at: Timestamp(seq),
                stream: Stream::Stdout,
                text: format!("line {seq}"),
                lines: None,
            };
            desk.database.store.append_lines(&[line]).await.unwrap();
        }
        let cancel = "mutation($id: UUID!) { cancelRun(id: $id) { run { id } } }";
        desk.ask(cancel, json!({ "id": run })).await;
    };
    let following = async {
        let query = "subscription($id: UUID!, $since: String) {
            taskLog(runId: $id, since: $since) { cursor line { text stream } } }";
        let (mut since, mut lines, mut turn) = (None::<String>, Vec::new(), 0_usize);
        loop {
            let mut events = desk.subscribe(query, json!({ "id": run, "since": since }));
            turn += 1;
            for _ in 0..turn * 13 % 40 + 1 {
                let Some(event) = next(&mut events).await else { return lines };
                since = Some(text(&event["taskLog"]["cursor"]));
                lines.push(text(&event["taskLog"]["line"]["text"]));
            }
        }
    };
    let ((), lines) = tokio::join!(writing, following);
    let expected: Vec<String> = (0..500).map(|seq| format!("line {seq}")).collect();
    assert_eq!(lines, expected);
}

async fn a_follower_of_schedules_sees_them_made_changed_and_deleted(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let query =
        "subscription($since: String, $ids: [UUID!]) { scheduleEvents(since: $since, ids: $ids) {
        cursor scheduleId schedule { name state } } }";
    let start = Cursor::START.to_string();
    let mut events = desk.subscribe(query, json!({ "since": start }));
    let id = desk.schedule("one", "@daily").await;
    let made = next(&mut events).await.unwrap();
    assert_eq!(made["scheduleEvents"]["schedule"], json!({ "name": "one", "state": "ACTIVE" }));
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": id })).await;
    let paused = next(&mut events).await.unwrap();
    assert_eq!(paused["scheduleEvents"]["schedule"]["state"], "PAUSED");

    // A subscription to one schedule does not report changes of the other.
    let since = paused["scheduleEvents"]["cursor"].clone();
    let mut own = desk.subscribe(query, json!({ "since": since, "ids": [id] }));
    desk.schedule("two", "@daily").await;
    let delete = "mutation($id: UUID!) { deleteSchedule(id: $id) { id } }";
    desk.ask(delete, json!({ "id": id })).await;
    let gone = next(&mut own).await.unwrap();
    assert_eq!(gone["scheduleEvents"]["scheduleId"], json!(id));
    assert_eq!(gone["scheduleEvents"]["schedule"], Value::Null);
    let rows = schedule::Entity::find().all(desk.database.store.read()).await.unwrap();
    assert_eq!(rows.len(), 2);
}

#[tokio::test]
async fn a_follower_without_a_cursor_begins_with_what_comes() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let schedule = desk.schedule("tick", "@daily").await;
    let before = desk.trigger(&schedule).await;
    let mut events = desk.subscribe(RUNS, json!({}));
    let mut waiting = std::pin::pin!(next(&mut events));
    // The follower subscribes at an unknown moment: the test creates runs until the follower has
    // seen one.
    let event = loop {
        tokio::select! {
            event = &mut waiting => break event.unwrap(),
            _ = desk.trigger(&schedule) => {}
        }
    };
    assert_ne!(event["runEvents"]["run"]["id"], json!(before));
}

#[tokio::test]
async fn a_cursor_of_something_else_and_a_run_that_is_not_there_are_refused() {
    let desk = Desk::open(TestDatabase::sqlite().await).await;
    let none = Uuid::nil();
    for (query, code) in [
        ("subscription { runEvents(since: \"x\") { cursor } }".to_owned(), "BAD_USER_INPUT"),
        ("subscription { scheduleEvents(since: \"1.2\") { cursor } }".to_owned(), "BAD_USER_INPUT"),
        (format!("subscription {{ taskLog(runId: \"{none}\") {{ cursor }} }}"), "NOT_FOUND"),
        ("subscription { runEvents(namespace: \"x\") { cursor } }".to_owned(), "NOT_FOUND"),
    ] {
        let response = desk.subscribe(&query, json!({})).next().await.unwrap();
        let error = serde_json::to_value(&response.errors[0]).unwrap();
        assert_eq!(error["extensions"]["code"], code, "{error}");
    }
}
