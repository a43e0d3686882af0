//! What schedules did and will do in a range of time, side by side.

use std::time::Duration;

use chrono::TimeDelta;
use entity::{
    Timestamp,
    fire::{self, Reason, Verdict},
    run::{self, State},
    user::Role,
};
use sea_orm::{ActiveModelTrait, EntityTrait, IntoActiveModel};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    desk::{Desk, noon},
    ledger::{plant, planted_fire},
    maintenance::{input, mark, plan},
    sorting::settle,
    walking::{member_of, namespace},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_lane_has_runs_and_fires_without_a_run_and_those_to_come,
    a_run_that_is_alive_at_the_next_instant_is_an_overlap,
    a_ledger_row_that_begins_before_the_range_is_a_mark,
    many_runs_are_counted_in_bars,
    an_old_run_that_is_alive_is_counted_with_many_others,
    many_upcoming_fires_are_one_bar,
    what_a_planned_window_holds_back_is_not_planned,
    lanes_are_paged_in_either_order,
    a_range_has_limits,
    lanes_of_other_namespaces_are_not_seen,
    the_load_is_the_number_of_runs_at_once,
);

const TIMELINE: &str = "query($in: String = \"default\", $search: String, $from: DateTime!,
    $to: DateTime!, $sort: TimelineSort! = NAME, $first: Int, $after: String) {
    timeline(namespace: $in, search: $search, from: $from, to: $to, sort: $sort, first: $first,
        after: $after) {
        totalCount pageInfo { endCursor hasNextPage }
        nodes {
            schedule { name } usualMs overlaps isComplete
            runs { state scheduledAt createdAt startedAt finishedAt }
            folds { from to runs failed live }
            marks { at lastAt verdict reason fires }
            planned { at to starts }
        } } }";

/// The lanes of this range on the first of March.
async fn lanes(desk: &Desk, from: &str, to: &str) -> Vec<Value> {
    let [from, to] = [from, to].map(|at| format!("2026-03-01T{at}:00Z"));
    let answer = desk.ask(TIMELINE, json!({ "from": from, "to": to })).await;
    answer["timeline"]["nodes"].as_array().unwrap().clone()
}

async fn a_lane_has_runs_and_fires_without_a_run_and_those_to_come(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let home = namespace(&desk, "default").await;
    let hourly = desk.schedule("hourly", "@hourly").await;
    desk.schedule("yearly", "@yearly").await;
    let run = desk.trigger(&hourly).await;
    settle(&desk, &run, State::Succeeded, 600_000).await;
    plant(&desk, [planted_fire(&hourly, home, 30, (Verdict::Missed, Reason::Outage))]).await;
    let found = lanes(&desk, "11:00", "15:00").await;
    assert_eq!(
        found,
        [json!({
            "schedule": { "name": "hourly" }, "usualMs": 600_000, "overlaps": [],
            "isComplete": true, "folds": [],
            "runs": [{ "state": "SUCCEEDED", "scheduledAt": "2026-03-01T12:00:00Z",
                "createdAt": "2026-03-01T12:00:00Z", "startedAt": "2026-03-01T12:00:01Z",
                "finishedAt": "2026-03-01T12:10:01Z" }],
            "marks": [{ "at": "2026-03-01T11:30:00Z", "lastAt": "2026-03-01T11:30:00Z",
                "verdict": "MISSED", "reason": "OUTAGE", "fires": 1 }],
            "planned": [
                { "at": "2026-03-01T13:00:00Z", "to": "2026-03-01T13:10:00Z", "starts": 1 },
                { "at": "2026-03-01T14:00:00Z", "to": "2026-03-01T14:10:00Z", "starts": 1 },
            ],
        })]
    );
    desk.clock.pass(Duration::from_secs(1_200));
    // The run has ended before this range, and the next instant comes after it.
    assert_eq!(lanes(&desk, "12:15", "12:45").await, [] as [Value; 0]);
    let ended = lanes(&desk, "12:05", "12:15").await;
    assert_eq!(ended[0]["runs"].as_array().unwrap().len(), 1, "{ended:?}");
}

async fn a_run_that_is_alive_at_the_next_instant_is_an_overlap(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let home = namespace(&desk, "default").await;
    let slow = desk.schedule("slow", "*/5 * * * *").await;
    desk.trigger(&slow).await;
    let skipped = (Verdict::Skipped, Reason::Overlap);
    plant(&desk, [planted_fire(&slow, home, -5, skipped)]).await;
    desk.clock.pass(Duration::from_secs(600));
    let found = lanes(&desk, "11:00", "12:10").await;
    assert_eq!(found[0]["runs"][0]["state"], "QUEUED");
    assert_eq!(found[0]["overlaps"], json!(["2026-03-01T12:05:00Z"]));
    assert_eq!(found[0]["marks"][0]["reason"], "OVERLAP");
    // A run that is alive is in the range long after it was created.
    desk.clock.pass(Duration::from_secs(3 * 24 * 3_600));
    let later = json!({ "from": "2026-03-04T11:00:00Z", "to": "2026-03-04T12:00:00Z" });
    let later = desk.ask(TIMELINE, later).await["timeline"]["nodes"].clone();
    assert_eq!(later[0]["runs"][0]["state"], "QUEUED", "{later}");
}

async fn a_ledger_row_that_begins_before_the_range_is_a_mark(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let home = namespace(&desk, "default").await;
    let id = desk.schedule("nightly", "0 2 * * *").await;
    let missed = planted_fire(&id, home, 120, (Verdict::Missed, Reason::Outage));
    let last_scheduled_at = Timestamp::from(noon() - TimeDelta::minutes(30));
    plant(&desk, [fire::Model { count: 9, last_scheduled_at, ..missed }]).await;
    let found = lanes(&desk, "11:00", "12:00").await;
    assert_eq!(
        found[0]["marks"],
        json!([{ "at": "2026-03-01T10:00:00Z", "lastAt": "2026-03-01T11:30:00Z",
            "verdict": "MISSED", "reason": "OUTAGE", "fires": 9 }])
    );
    assert_eq!(lanes(&desk, "11:31", "12:00").await, [] as [Value; 0]);
}

/// Writes runs of this schedule that began at eleven, ten seconds apart, and took a second each.
async fn plant_runs(desk: &Desk, schedule: &str, count: u32, failed: [u32; 2]) {
    let run = desk.trigger(schedule).await;
    let store = &desk.database.store;
    let row = run::Entity::find_by_id(run.parse::<Uuid>().unwrap());
    let row = row.one(store.read()).await.unwrap().unwrap();
    let tx = store.begin().await.unwrap();
    for number in 0..count {
        let at = noon() - TimeDelta::hours(1) + TimeDelta::seconds(10 * i64::from(number));
        let key = u128::try_from(at.timestamp_millis()).unwrap() << 80;
        let at = Timestamp::from(at);
        let state = if failed.contains(&number) { State::Failed } else { State::Succeeded };
        let one = run::Model {
            id: Uuid::from_u128(key + u128::from(number)),
            state,
            scheduled_at: at,
            due_at: at,
            created_at: at,
            started_at: Some(at),
            finished_at: Some(Timestamp(at.0 + 1_000)),
            idempotency_key: format!("planted-{number}"),
            ..row.clone()
        };
        one.into_active_model().insert(&tx).await.unwrap();
    }
    store.commit(tx).await.unwrap();
}

async fn many_runs_are_counted_in_bars(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("often", "*/10 * * * * *").await;
    plant_runs(&desk, &id, 250, [100, 101]).await;
    let found = lanes(&desk, "10:00", "12:00").await;
    assert_eq!((&found[0]["runs"], &found[0]["isComplete"]), (&json!([]), &json!(true)));
    // A step is a minute: the runs that failed began in the 17th minute.
    let bar = |from: &str, to: &str, runs: i64, failed: i64| {
        let [from, to] = [from, to].map(|at| format!("2026-03-01T11:{at}Z"));
        json!({ "from": from, "to": to, "runs": runs, "failed": failed, "live": 0 })
    };
    assert_eq!(
        found[0]["folds"],
        json!([
            bar("00:00", "15:51", 96, 0),
            bar("16:00", "16:51", 6, 2),
            bar("17:00", "41:31", 148, 0),
        ])
    );
    // Few runs are listed one by one.
    let few = lanes(&desk, "11:00", "11:10").await;
    assert_eq!(few[0]["runs"].as_array().unwrap().len(), 60);
    assert_eq!(few[0]["folds"], json!([]));
}

async fn an_old_run_that_is_alive_is_counted_with_many_others(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("often", "*/10 * * * * *").await;
    plant_runs(&desk, &id, 250, [300, 301]).await;
    let store = &desk.database.store;
    let row = run::Entity::find().one(store.read()).await.unwrap().unwrap();
    let at = noon() - TimeDelta::days(3);
    let key = u128::try_from(at.timestamp_millis()).unwrap() << 80;
    let at = Timestamp::from(at);
    let old = run::Model {
        id: Uuid::from_u128(key),
        state: State::Running,
        scheduled_at: at,
        due_at: at,
        created_at: at,
        started_at: Some(at),
        finished_at: None,
        idempotency_key: "old".to_owned(),
        ..row
    };
    let tx = store.begin().await.unwrap();
    old.into_active_model().insert(&tx).await.unwrap();
    store.commit(tx).await.unwrap();
    let found = lanes(&desk, "10:00", "12:00").await;
    let bar = |from: &str, to: &str, runs: i64, live: i64| {
        let [from, to] = [from, to].map(|at| format!("2026-03-01T{at}Z"));
        json!({ "from": from, "to": to, "runs": runs, "failed": 0, "live": live })
    };
    assert_eq!(
        found[0]["folds"],
        json!([bar("10:00:00", "12:00:00", 1, 1), bar("11:00:00", "11:41:31", 250, 0)])
    );
}

async fn many_upcoming_fires_are_one_bar(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("second", "* * * * * *").await;
    let found = lanes(&desk, "13:00", "14:00").await;
    assert_eq!(
        found[0]["planned"],
        json!([{ "at": "2026-03-01T13:00:00Z", "to": "2026-03-01T14:00:00Z", "starts": 3_600 }])
    );
}

async fn what_a_planned_window_holds_back_is_not_planned(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("hourly", "@hourly").await;
    let window =
        plan(&desk, &input("Upgrade", "2026-03-01T14:00:00Z", "2026-03-01T16:00:00Z")).await;
    mark(&desk, &id, &window).await;
    let found = lanes(&desk, "12:00", "18:00").await;
    let planned = found[0]["planned"].as_array().unwrap();
    let times: Vec<&Value> = planned.iter().map(|plan| &plan["at"]).collect();
    let [before, end, after] =
        ["13", "16", "17"].map(|hour| json!(format!("2026-03-01T{hour}:00:00Z")));
    assert_eq!(times, [&before, &end, &after]);
}

async fn lanes_are_paged_in_either_order(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for (name, runs) in [("a", 1), ("B", 3), ("c", 2), ("idle", 0)] {
        let id = desk.schedule(name, "0 0 1 1 *").await;
        for _ in 0..runs {
            desk.trigger(&id).await;
        }
    }
    for (sort, expected) in [("NAME", ["a", "B", "c"]), ("BUSIEST", ["B", "c", "a"])] {
        let mut names = Vec::new();
        let mut after = Value::Null;
        loop {
            let page = desk
                .ask(
                    TIMELINE,
                    json!({ "from": "2026-03-01T11:30:00Z", "to": "2026-03-01T12:30:00Z",
                        "sort": sort, "first": 2, "after": after }),
                )
                .await["timeline"]
                .clone();
            assert_eq!(page["totalCount"], 3, "{sort}");
            let nodes = page["nodes"].as_array().unwrap().clone();
            names.extend(nodes.iter().map(|node| node["schedule"]["name"].clone()));
            after = page["pageInfo"]["endCursor"].clone();
            if page["pageInfo"]["hasNextPage"] == false {
                break;
            }
        }
        assert_eq!(names, expected, "{sort}");
    }
    let search = json!({ "from": "2026-03-01T11:30:00Z", "to": "2026-03-01T12:30:00Z",
        "search": "name:c" });
    let found = desk.ask(TIMELINE, search).await["timeline"]["nodes"].clone();
    assert_eq!((found[0]["schedule"]["name"].clone(), found.get(1)), (json!("c"), None));
}

async fn a_range_has_limits(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let noon = "2026-03-01T12:00:00Z";
    for (from, to, field) in [
        (noon, noon, "to"),
        (noon, "2026-03-01T11:00:00Z", "to"),
        (noon, "2026-04-01T12:00:01Z", "to"),
        ("2027-03-02T00:00:00Z", "2027-03-03T00:00:00Z", "to"),
        ("1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z", "from"),
    ] {
        let range = json!({ "from": from, "to": to });
        let error = desk.refused(TIMELINE, range.clone()).await;
        assert_eq!(error["extensions"]["field"], field, "{from} {to}");
        let load = "query($from: DateTime!, $to: DateTime!) {
            timelineLoad(from: $from, to: $to) { isComplete } }";
        assert_eq!(desk.refused(load, range).await["extensions"]["field"], field, "{from} {to}");
    }
    desk.ask(TIMELINE, json!({ "from": noon, "to": "2026-04-01T12:00:00Z" })).await;
    for first in [0, 51] {
        let page = json!({ "from": noon, "to": "2026-03-02T12:00:00Z", "first": first });
        assert_eq!(desk.refused(TIMELINE, page).await["extensions"]["field"], "first");
    }
}

async fn lanes_of_other_namespaces_are_not_seen(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("mine", "@hourly").await;
    desk.trigger(&id).await;
    desk.ask("mutation { createNamespace(name: \"other\") { __typename } }", json!({})).await;
    let stranger = member_of(namespace(&desk, "other").await, Role::Viewer);
    let (from, to) = ("2026-03-01T11:00:00Z", "2026-03-01T14:00:00Z");
    let range = |place: Value| json!({ "in": place, "from": from, "to": to });
    let seen = desk.send_as(&stranger, TIMELINE, range(Value::Null)).await;
    assert_eq!(seen.data.into_json().unwrap()["timeline"]["nodes"], json!([]));
    assert_eq!(desk.code_for(&stranger, TIMELINE, range(json!("default"))).await, "NOT_FOUND");
    let all = desk.ask(TIMELINE, range(Value::Null)).await;
    assert_eq!(all["timeline"]["nodes"][0]["schedule"]["name"], "mine");
    let load = "query($in: String, $from: DateTime!, $to: DateTime!) {
        timelineLoad(namespace: $in, from: $from, to: $to) { peaks } }";
    assert_eq!(desk.code_for(&stranger, load, range(json!("default"))).await, "NOT_FOUND");
}

async fn the_load_is_the_number_of_runs_at_once(database: TestDatabase) {
    let desk = Desk::open(database).await;
    for (name, took_ms) in [("long", 600_000), ("short", 120_000)] {
        let id = desk.schedule(name, "@hourly").await;
        let run = desk.trigger(&id).await;
        settle(&desk, &run, State::Succeeded, took_ms).await;
    }
    // One that waits is not executed.
    let waiting = desk.schedule("waiting", "@hourly").await;
    desk.trigger(&waiting).await;
    desk.clock.pass(Duration::from_secs(1_200));
    let query = "query($search: String) { timelineLoad(search: $search,
        from: \"2026-03-01T12:00:00Z\", to: \"2026-03-01T13:00:00Z\") {
        from stepSeconds peaks isComplete } }";
    let load = desk.ask(query, json!({})).await["timelineLoad"].clone();
    assert_eq!(load["from"], "2026-03-01T12:00:00Z");
    assert_eq!((&load["stepSeconds"], &load["isComplete"]), (&json!(60), &json!(true)));
    let mut expected = vec![0; 21];
    expected[..3].fill(2);
    expected[3..11].fill(1);
    assert_eq!(load["peaks"], json!(expected));
    let short = desk.ask(query, json!({ "search": "name:short" })).await["timelineLoad"].clone();
    assert_eq!(short["peaks"][3], 0);
}
