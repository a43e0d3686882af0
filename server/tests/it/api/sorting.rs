//! Sorted lists, and statistics of a schedule's runs.

use std::time::Duration;

use carillon::store::reads::schedule_stats;
use chrono::TimeDelta;
use entity::{
    Timestamp,
    run::{self, State},
    schedule, task_run,
};
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, sea_query::Expr};
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::{Desk, noon};
use crate::support::{TestDatabase, on_both};

on_both!(
    schedules_are_sorted_and_paged_in_each_order,
    runs_are_sorted_and_paged_in_each_order,
    the_statistics_of_a_schedules_runs_are_shown,
    the_ending_of_a_runs_last_attempt_is_shown,
);

/// Ends a run in this state; the run started a second after noon and took `took_ms`.
pub(super) async fn settle(desk: &Desk, run: &str, state: State, took_ms: i64) {
    let started = Timestamp::from(noon() + TimeDelta::seconds(1));
    let tx = desk.database.store.begin().await.unwrap();
    run::Entity::update_many()
        .col_expr(run::Column::State, Expr::value(sea_orm::ActiveEnum::to_value(&state)))
        .col_expr(run::Column::StartedAt, Expr::value(started.0))
        .col_expr(run::Column::FinishedAt, Expr::value(started.0 + took_ms))
        .filter(run::Column::Id.eq(run.parse::<Uuid>().unwrap()))
        .exec(&tx)
        .await
        .unwrap();
    desk.database.store.commit(tx).await.unwrap();
}

const SCHEDULES: &str = "query($sort: ScheduleSort, $first: Int, $after: String, $last: Int,
    $before: String) {
    schedules(sort: $sort, first: $first, after: $after, last: $last, before: $before) {
        totalCount nodes { name } pageInfo { endCursor hasNextPage } } }";

fn names(answer: &Value, list: &str) -> Vec<String> {
    let nodes = answer[list]["nodes"].as_array().unwrap();
    nodes.iter().map(|node| node["name"].as_str().unwrap().to_owned()).collect()
}

/// The names on all pages of two rows each, read forward, and those on the page before the last
/// cursor, read backward.
async fn paged(desk: &Desk, sort: &Value) -> (Vec<String>, Vec<String>) {
    let (mut all, mut after) = (Vec::new(), Value::Null);
    loop {
        let variables = json!({ "sort": sort, "first": 2, "after": after });
        let page = desk.ask(SCHEDULES, variables).await;
        all.extend(names(&page, "schedules"));
        after = page["schedules"]["pageInfo"]["endCursor"].clone();
        if page["schedules"]["pageInfo"]["hasNextPage"] == false {
            let variables = json!({ "sort": sort, "last": 2, "before": after });
            let before = desk.ask(SCHEDULES, variables).await;
            return (all, names(&before, "schedules"));
        }
    }
}

async fn schedules_are_sorted_and_paged_in_each_order(database: TestDatabase) {
    let desk = Desk::open(database).await;
    // The schedules are due at 13:00, at 12:01 and at midnight. The last one is paused, so it has
    // no next fire.
    let hourly = desk.schedule("b-hourly", "@hourly").await;
    let minutely = desk.schedule("C-minutely", "* * * * *").await;
    desk.schedule("a-daily", "@daily").await;
    let paused = desk.schedule("d-paused", "* * * * *").await;
    let pause =
        "mutation($id: UUID!) { pauseSchedule(id: $id, reason: \"x\") { schedule { id } } }";
    desk.ask(pause, json!({ "id": paused })).await;
    let tx = desk.database.store.begin().await.unwrap();
    for (id, minutes) in [(&hourly, 5), (&minutely, 1)] {
        schedule::Entity::update_many()
            .col_expr(
                schedule::Column::LastFireAt,
                Expr::value(Timestamp::from(noon() - TimeDelta::minutes(minutes)).0),
            )
            .filter(schedule::Column::Id.eq(id.parse::<Uuid>().unwrap()))
            .exec(&tx)
            .await
            .unwrap();
    }
    desk.database.store.commit(tx).await.unwrap();
    for (schedule, took) in [(&hourly, 10), (&hourly, 900), (&minutely, 200)] {
        let run = desk.trigger(schedule).await;
        settle(&desk, &run, State::Succeeded, took).await;
    }
    let orders = [
        ("NAME", false, ["a-daily", "b-hourly", "C-minutely", "d-paused"]),
        ("NAME", true, ["d-paused", "C-minutely", "b-hourly", "a-daily"]),
        ("NEXT", false, ["C-minutely", "b-hourly", "a-daily", "d-paused"]),
        ("NEXT", true, ["a-daily", "b-hourly", "C-minutely", "d-paused"]),
    ];
    for (by, descending, expected) in orders {
        let sort = json!({ "by": by, "descending": descending });
        let (all, before) = paged(&desk, &sort).await;
        assert_eq!(all, expected, "{sort}");
        assert_eq!(before, expected[1..3], "{sort}");
    }
    // Rows without a value come last in both directions, in the order of their keys.
    for (by, descending, expected) in [
        ("LAST", false, ["b-hourly", "C-minutely"]),
        ("LAST", true, ["C-minutely", "b-hourly"]),
        ("P95", false, ["C-minutely", "b-hourly"]),
        ("P95", true, ["b-hourly", "C-minutely"]),
    ] {
        let sort = json!({ "by": by, "descending": descending });
        let (all, before) = paged(&desk, &sort).await;
        assert_eq!((all.len(), &all[..2]), (4, &expected.map(str::to_owned)[..]), "{sort}");
        assert_eq!(before, all[1..3], "{sort}");
    }
    let next = json!({ "sort": { "by": "NEXT" }, "after": "no cursor" });
    assert_eq!(desk.refused(SCHEDULES, next).await["extensions"]["field"], "after");

    // Schedules with this many runs are read one at a time.
    let ids = [&hourly, &minutely, &paused].map(|id| id.parse::<Uuid>().unwrap());
    let (from, until) = (noon() - TimeDelta::days(1), noon() + TimeDelta::days(1));
    let store = &desk.database.store;
    let figures = schedule_stats::of_schedules(store, &ids, from.into(), until.into(), 50_000);
    let figures = figures.await.unwrap();
    let durations = ids.map(|id| figures.get(&id).map(|one| one.durations.clone()));
    assert_eq!(durations, [Some(vec![10, 900]), Some(vec![200]), None]);
}

async fn runs_are_sorted_and_paged_in_each_order(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let schedule = desk.schedule("tick", "@hourly").await;
    let mut runs = Vec::new();
    for took in [20, 500, 100] {
        let run = desk.trigger(&schedule).await;
        settle(&desk, &run, State::Succeeded, took).await;
        runs.push(run);
        desk.clock.pass(Duration::from_millis(10));
    }
    let waiting = desk.trigger(&schedule).await;
    let query = "query($sort: RunSort, $first: Int, $after: String) {
        runs(sort: $sort, first: $first, after: $after) {
            totalCount nodes { id } pageInfo { endCursor } } }";
    let ids = |answer: &Value| -> Vec<String> {
        let nodes = answer["runs"]["nodes"].as_array().unwrap();
        nodes.iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect()
    };
    let [short, long, middle] = [&runs[0], &runs[1], &runs[2]];
    for (descending, expected) in
        [(true, [long, middle, short, &waiting]), (false, [short, middle, long, &waiting])]
    {
        let sort = json!({ "by": "DURATION", "descending": descending });
        let first = desk.ask(query, json!({ "sort": sort, "first": 3 })).await;
        assert_eq!(first["runs"]["totalCount"], 4);
        let after = &first["runs"]["pageInfo"]["endCursor"];
        let rest = desk.ask(query, json!({ "sort": sort, "after": after })).await;
        let all: Vec<String> = ids(&first).into_iter().chain(ids(&rest)).collect();
        assert_eq!(all.iter().collect::<Vec<_>>(), expected, "{sort}");
    }
    // All runs started at the same instant, except one that has not started.
    let started = desk.ask(query, json!({ "sort": { "by": "STARTED" } })).await;
    assert_eq!(ids(&started).last(), Some(&waiting));
    let usual = desk.ask(query, json!({})).await;
    assert_eq!(ids(&usual)[0], waiting, "the newest first");
}

async fn the_statistics_of_a_schedules_runs_are_shown(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let busy = desk.schedule("busy", "@hourly").await;
    desk.schedule("idle", "@hourly").await;
    for (state, took) in [(State::Succeeded, 100), (State::Failed, 300), (State::Cancelled, 200)] {
        let run = desk.trigger(&busy).await;
        settle(&desk, &run, state, took).await;
    }
    desk.trigger(&busy).await;
    let query = "query($from: DateTime) { schedules { nodes { stats(from: $from) {
        from runs succeeded failed cancelled durations { p50 p95 } maxDurationMs
        latenesses { p50 } isComplete } } } }";
    let answer = desk.ask(query, json!({})).await;
    let stats = |index: usize| answer["schedules"]["nodes"][index]["stats"].clone();
    assert_eq!(
        stats(0),
        json!({
            "from": "2026-02-22T12:00:01Z", "runs": 4, "succeeded": 1, "failed": 1, "cancelled": 1,
            "durations": { "p50": 200, "p95": 300 }, "maxDurationMs": 300, "latenesses": null,
            "isComplete": true,
        })
    );
    assert_eq!((&stats(1)["runs"], &stats(1)["durations"]), (&json!(0), &Value::Null));
    let none = json!({ "from": "2026-03-02T12:00:00Z" });
    assert_eq!(desk.refused(query, none).await["extensions"]["field"], "from");
}

/// Records an attempt that ended with that output.
async fn attempt(desk: &Desk, run: &str, task: &str, number: i32, output: Value) {
    let started = Timestamp::from(noon() + TimeDelta::seconds(number.into()));
    let row = task_run::Model {
        run_id: run.parse().unwrap(),
        task: task.to_owned(),
        attempt: number,
        state: task_run::State::Failed,
        node_id: Uuid::nil(),
        started_at: started,
        finished_at: Some(started),
        error: None,
        output: Some(output),
    };
    let tx = desk.database.store.begin().await.unwrap();
    task_run::Entity::insert(row.into_active_model()).exec_without_returning(&tx).await.unwrap();
    desk.database.store.commit(tx).await.unwrap();
}

async fn the_ending_of_a_runs_last_attempt_is_shown(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let id = desk.schedule("ends", "@hourly").await;
    let last = [
        json!({ "exit_code": 3 }),
        json!({ "exit_code": null, "signal": "SIGKILL" }),
        json!({ "status": 503 }),
        // A worker may return any output.
        json!({ "status": "fine", "signal": [1], "exit_code": 1e300 }),
        json!(["exit_code"]),
    ];
    let mut runs = Vec::new();
    for output in last {
        let run = desk.trigger(&id).await;
        settle(&desk, &run, State::Failed, 100).await;
        attempt(&desk, &run, "main", 1, json!({ "exit_code": 75 })).await;
        attempt(&desk, &run, "main", 2, output).await;
        runs.push(run);
    }
    let live = desk.trigger(&id).await;
    attempt(&desk, &live, "main", 1, json!({ "exit_code": 75 })).await;
    runs.push(live);
    let query = "{ runs { nodes { id ending { exitCode signal httpStatus } } } }";
    let answer = desk.ask(query, json!({})).await;
    let nodes = answer["runs"]["nodes"].as_array().unwrap();
    let ending = |run: &String| {
        let node = nodes.iter().find(|node| node["id"] == **run).unwrap();
        node["ending"].clone()
    };
    let told: Vec<Value> = runs.iter().map(ending).collect();
    let one = |exit: Option<i32>, signal: Option<&str>, status: Option<i32>| json!({ "exitCode": exit, "signal": signal, "httpStatus": status });
    let expected = [
        one(Some(3), None, None),
        one(None, Some("SIGKILL"), None),
        one(None, None, Some(503)),
        Value::Null,
        Value::Null,
        Value::Null,
    ];
    assert_eq!(told, expected);
}
