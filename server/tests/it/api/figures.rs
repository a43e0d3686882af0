//! Metrics and statistics.

use std::time::Duration;

use carillon::{
    access::{Grant, Grants, Viewer, ViewerKind},
    store::{
        counts::{Counts, Rollup},
        depths::NamespaceQueueDepth,
        namespaces,
        reads::feed::end_of_runs,
        spread::DurationSpread,
        stats::{NamespaceMinute, UnrunVerdicts},
    },
};
use chrono::TimeDelta;
use entity::{
    Timestamp,
    fire::{self, Reason, Verdict},
    run::State,
    user::Role,
};
use futures::StreamExt;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    desk::{Desk, noon},
    ledger::{plant as plant_fires, planted_fire},
    sorting::settle,
    walking::namespace,
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_chart_has_a_point_for_each_step,
    a_chart_has_the_average_of_what_waited,
    a_chart_of_a_schedule_or_a_tag_is_made_of_its_runs,
    namespaces_are_compared_over_a_range,
    only_the_busiest_namespaces_that_one_may_see_are_compared,
    metrics_are_those_of_the_last_hour,
    an_overview_shows_the_ended_runs_of_the_last_day,
    ticks_come_at_once_and_again_when_their_time_has_come,
    a_follower_of_the_health_is_notified_of_new_findings,
);

const STATS: &str = "query($from: DateTime, $until: DateTime, $step: Int) {
    runStats(from: $from, until: $until, step: $step) { from until stepSeconds points {
        at ended succeeded failed missed skipped averageDurationMs maxDurationMs averageLatenessMs
        durations { p50 p95 p99 } latenesses { p50 p99 } } } }";

/// The minute that begins this many minutes before noon.
fn minute(namespace_id: Uuid, ago: i64) -> NamespaceMinute {
    NamespaceMinute { namespace_id, minute: Timestamp::from(noon() - TimeDelta::minutes(ago)) }
}

/// Adds rows for the given minutes before noon.
async fn plant(desk: &Desk, minutes: &[(i64, Rollup)], missed: i64) {
    let home = namespace(desk, "default").await;
    let rows = minutes.iter().map(|(ago, rollup)| (minute(home, *ago), rollup.clone()));
    plant_rows(desk, &rows.collect::<Vec<_>>(), missed).await;
}

/// Adds rows of several namespaces, and lost fires of the default one. Only once in a test, because
/// the rows are those of all runs up to now.
async fn plant_rows(desk: &Desk, rows: &[(NamespaceMinute, Rollup)], missed: i64) {
    let store = &desk.database.store;
    let NamespaceMinute { namespace_id, minute } = minute(namespace(desk, "default").await, 1);
    let end = end_of_runs(store).await.unwrap();
    let tx = store.begin().await.unwrap();
    assert!(store.add_counts_if_at(&tx, rows, None, end).await.unwrap());
    let unrun = UnrunVerdicts { namespace_id, minute, missed, skipped: 2, abandoned: 0 };
    store.set_unrun(&tx, &[unrun]).await.unwrap();
    store.commit(tx).await.unwrap();
}

fn two_ended() -> Rollup {
    let counts = Counts {
        succeeded: 1,
        failed: 1,
        started: 2,
        duration_sum_ms: 300,
        duration_max_ms: 200,
        fired: 1,
        lateness_sum_ms: 7,
        lateness_max_ms: 7,
        ..Counts::default()
    };
    let (mut durations, mut latenesses) = (DurationSpread::default(), DurationSpread::default());
    durations.add(100);
    durations.add(200);
    latenesses.add(7);
    Rollup { counts, durations, latenesses }
}

async fn a_chart_has_a_point_for_each_step(database: TestDatabase) {
    let desk = Desk::open(database).await;
    plant(&desk, &[(59, two_ended()), (4, two_ended()), (1, two_ended())], 3).await;
    let answer = desk.ask(STATS, json!({ "step": 300 })).await;
    let stats = &answer["runStats"];
    assert_eq!(stats["from"], "2026-03-01T11:00:00Z");
    assert_eq!(
        (&stats["until"], &stats["stepSeconds"]),
        (&json!("2026-03-01T12:00:00Z"), &json!(300))
    );
    let points = stats["points"].as_array().unwrap();
    assert_eq!(points.len(), 12);
    assert_eq!(
        points[11],
        json!({ "at": "2026-03-01T11:55:00Z", "ended": 4, "succeeded": 2, "failed": 2, "missed": 3,
            "skipped": 2, "averageDurationMs": 150.0, "maxDurationMs": 200,
            "averageLatenessMs": 7.0, "durations": { "p50": 99, "p95": 199, "p99": 199 },
            "latenesses": { "p50": 7, "p99": 7 } })
    );
    assert_eq!((&points[0]["ended"], &points[1]["ended"]), (&json!(2), &json!(0)));
    assert_eq!(points[1]["averageDurationMs"], Value::Null);
    assert_eq!(points[1]["durations"], Value::Null);

    // Old statistics are kept by the hour.
    let past = json!({ "from": "2026-02-26T12:00:00Z", "step": 300 });
    let stats = desk.ask(STATS, past).await["runStats"].clone();
    assert_eq!((&stats["stepSeconds"], &stats["points"][71]["ended"]), (&json!(3_600), &json!(6)));

    let long = json!({ "from": "2026-01-01T00:00:00Z", "step": 60 });
    let error = desk.refused(STATS, long).await;
    assert_eq!(error["extensions"]["field"], "step");
    let backward = json!({ "from": "2026-03-01T13:00:00Z" });
    assert_eq!(desk.refused(STATS, backward).await["extensions"]["code"], "BAD_USER_INPUT");
}

async fn a_chart_has_the_average_of_what_waited(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let mine = desk.schedule("mine", "@hourly").await;
    let home = namespace(&desk, "default").await;
    let make = "mutation { createNamespace(name: \"other\") { __typename } }";
    desk.ask(make, json!({})).await;
    let other = namespace(&desk, "other").await;
    let store = &desk.database.store;
    let tx = store.begin().await.unwrap();
    for (namespace_id, ago, runs, jobs) in [(home, 4, 10, 0), (home, 3, 5, 2), (other, 3, 30, 0)] {
        let depth = NamespaceQueueDepth { namespace_id, runs, jobs };
        let minute = minute(namespace_id, ago).minute;
        // Counted twice in this minute.
        for _ in 0..2 {
            store.add_depths(&tx, minute, &[depth], 30_000).await.unwrap();
        }
    }
    store.commit(tx).await.unwrap();
    let query = "query($namespace: String, $step: Int, $schedule: UUID) {
        runStats(namespace: $namespace, step: $step, scheduleId: $schedule) {
            points { ended averageWaitingRuns averageWaitingJobs } } }";
    let last = async |variables: Value, count: usize| {
        let stats = desk.ask(query, variables).await["runStats"].clone();
        let mut points = stats["points"].as_array().unwrap().clone();
        points.drain(..points.len() - count);
        let of = |field: &str| -> Vec<Value> {
            points.iter().map(|point| point[field].clone()).collect()
        };
        json!([of("averageWaitingRuns"), of("averageWaitingJobs")])
    };
    let by_minute = json!({ "namespace": "default", "step": 60 });
    assert_eq!(last(by_minute, 4).await, json!([[10.0, 5.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]]));
    let by_five = json!({ "namespace": "default", "step": 300 });
    assert_eq!(last(by_five, 1).await, json!([[3.0], [0.4]]));
    let of_all = json!({ "namespace": null, "step": 60 });
    assert_eq!(last(of_all, 4).await, json!([[10.0, 35.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]]));
    let of_one = json!({ "step": 300, "schedule": mine });
    assert_eq!(last(of_one, 1).await, json!([[null], [null]]));

    // What waits now is counted by itself.
    desk.trigger(&mine).await;
    let query = "query($in: String) { metrics(namespace: $in) { waitingRuns waitingJobs } }";
    for (namespace, runs) in [(json!("default"), 1), (json!("other"), 0), (Value::Null, 1)] {
        let answer = desk.ask(query, json!({ "in": namespace })).await;
        assert_eq!(answer["metrics"], json!({ "waitingRuns": runs, "waitingJobs": 0 }));
    }
}

async fn a_chart_of_a_schedule_or_a_tag_is_made_of_its_runs(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let mine = desk.schedule("mine", "@hourly").await;
    let other = desk.schedule("other", "@hourly").await;
    let home = namespaces::by_name(desk.database.store.read(), "default").await.unwrap().unwrap();
    let tag = "mutation($id: UUID!) { updateSchedule(input: {
        id: $id, expectedVersion: 1, tags: [\"billing\"] }) { schedule { id } } }";
    desk.ask(tag, json!({ "id": other })).await;
    // The keys of the runs say that they were created now; the runs end in the following minute.
    for (schedule, state, took) in [
        (&mine, State::Succeeded, 100),
        (&mine, State::Failed, 300),
        (&other, State::Succeeded, 50),
    ] {
        let run = desk.trigger(schedule).await;
        settle(&desk, &run, state, took).await;
    }
    let missed = (Verdict::Missed, Reason::Outage);
    let lost = planted_fire(&mine, home.id, 2, missed);
    plant_fires(&desk, [fire::Model { count: 4, ..lost }]).await;
    let query = "query($schedule: UUID, $tag: String) {
        runStats(scheduleId: $schedule, tag: $tag, step: 300, until: \"2026-03-01T12:05:00Z\") {
            isComplete points { at ended succeeded failed missed durations { p50 p99 } } } }";
    let sums = async |variables: Value| {
        let stats = desk.ask(query, variables).await["runStats"].clone();
        assert_eq!(stats["isComplete"], true);
        let points = stats["points"].as_array().unwrap();
        ["ended", "succeeded", "failed", "missed"]
            .map(|of| points.iter().map(|point| point[of].as_i64().unwrap()).sum::<i64>())
    };
    assert_eq!(sums(json!({ "schedule": mine })).await, [2, 1, 1, 4]);
    assert_eq!(sums(json!({ "tag": "billing" })).await, [1, 1, 0, 0]);
    assert_eq!(sums(json!({ "tag": "billing", "schedule": mine })).await, [0; 4]);
    let stats = desk.ask(query, json!({ "schedule": mine })).await["runStats"].clone();
    let last = stats["points"].as_array().unwrap().last().unwrap();
    assert_eq!(last["durations"], json!({ "p50": 99, "p99": 300 }));
    let unknown = json!({ "schedule": Uuid::nil() });
    assert_eq!(desk.refused(query, unknown).await["extensions"]["code"], "NOT_FOUND");
}

const COMPARED: &str = "query($from: DateTime, $step: Int, $first: Int! = 50) {
    namespaceStats(from: $from, step: $step, first: $first) { from until stepSeconds isCut
        namespaces { namespace total { at ended failed missed durations { p95 } latenesses { p95 } }
            points { at ended durations { p95 } } } } }";

/// Adds a namespace; returns a minute of it in which as many runs as given ended.
async fn namespace_with(desk: &Desk, name: &str, ended: i64) -> (NamespaceMinute, Rollup) {
    let make = "mutation($name: String!) { createNamespace(name: $name) { __typename } }";
    desk.ask(make, json!({ "name": name })).await;
    let counts = Counts { succeeded: ended, ..Counts::default() };
    (minute(namespace(desk, name).await, 7), Rollup { counts, ..Rollup::default() })
}

async fn namespaces_are_compared_over_a_range(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let mut slow = two_ended();
    slow.durations.add(5_000);
    slow.counts.duration_max_ms = 5_000;
    let home = namespace(&desk, "default").await;
    let busy = namespace_with(&desk, "busy", 90).await;
    let _idle = namespace_with(&desk, "idle", 0).await;
    plant_rows(&desk, &[(minute(home, 59), two_ended()), (minute(home, 4), slow), busy], 3).await;
    let from = json!({ "from": "2026-03-01T11:00:00Z", "step": 600 });
    let stats = desk.ask(COMPARED, from).await["namespaceStats"].clone();
    assert_eq!(
        (&stats["from"], &stats["until"], &stats["stepSeconds"], &stats["isCut"]),
        (
            &json!("2026-03-01T11:00:00Z"),
            &json!("2026-03-01T12:00:00Z"),
            &json!(600),
            &json!(false)
        )
    );
    let found = stats["namespaces"].as_array().unwrap();
    let names: Vec<_> = found.iter().map(|one| one["namespace"].as_str().unwrap()).collect();
    assert_eq!(names, ["busy", "default", "idle"]);
    // The percentiles of the range are those of all its runs, not of its steps.
    assert_eq!(
        found[1]["total"],
        json!({ "at": "2026-03-01T11:00:00Z", "ended": 4, "failed": 2, "missed": 3,
            "durations": { "p95": 4863 }, "latenesses": { "p95": 7 } })
    );
    let points = found[1]["points"].as_array().unwrap();
    let ended: Vec<_> = points.iter().map(|point| point["ended"].as_i64().unwrap()).collect();
    assert_eq!(ended, [2, 0, 0, 0, 0, 2]);
    assert_eq!(points[0]["durations"]["p95"], 199);
    assert_eq!(found[0]["points"][5]["ended"], 90);
    assert_eq!(found[2]["total"]["ended"], 0);
    assert_eq!(found[2]["points"].as_array().unwrap().len(), 6);

    let long = json!({ "from": "2026-03-01T10:00:00Z", "step": 60 });
    let error = desk.refused(COMPARED, long).await;
    assert_eq!(error["extensions"]["field"], "step");
    assert!(error["message"].as_str().unwrap().contains("makes 120 steps"), "{error}");
    for first in [0, 101] {
        let error = desk.refused(COMPARED, json!({ "first": first })).await;
        assert_eq!(error["extensions"]["field"], "first");
    }
}

async fn only_the_busiest_namespaces_that_one_may_see_are_compared(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let mut rows = Vec::new();
    for (name, ended) in [("calm", 2), ("busy", 90), ("secret", 50)] {
        rows.push(namespace_with(&desk, name, ended).await);
    }
    plant_rows(&desk, &rows, 0).await;
    let names = |answer: &Value| {
        let stats = &answer["namespaceStats"];
        let found = stats["namespaces"].as_array().unwrap().iter();
        let names: Vec<_> =
            found.map(|one| one["namespace"].as_str().unwrap().to_owned()).collect();
        (names.join(" "), stats["isCut"].as_bool().unwrap())
    };
    let two = desk.ask(COMPARED, json!({ "first": 2 })).await;
    assert_eq!(names(&two), ("busy secret".to_owned(), true));
    let all = desk.ask(COMPARED, json!({ "first": 4 })).await;
    assert_eq!(names(&all), ("busy secret calm default".to_owned(), false));

    let grant = Grant { role: Role::Viewer, sees_payloads: false };
    let mut grants = Vec::new();
    for name in ["busy", "calm"] {
        grants.push((namespace(&desk, name).await, grant));
    }
    let eve =
        Viewer::new(Uuid::from_u128(8), "eve", ViewerKind::User, Grants::new(None, grants), "x");
    let seen = desk.send_as(&eve, COMPARED, json!({})).await.data.into_json().unwrap();
    assert_eq!(names(&seen), ("busy calm".to_owned(), false));
    let outsider =
        Viewer::new(Uuid::from_u128(6), "x", ViewerKind::User, Grants::new(None, []), "x");
    assert_eq!(desk.code_for(&outsider, COMPARED, json!({})).await, "FORBIDDEN");
}

async fn an_overview_shows_the_ended_runs_of_the_last_day(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let mut slow = two_ended();
    slow.counts.timed_out = 4;
    plant(&desk, &[(24 * 60 + 1, two_ended()), (24 * 60, two_ended()), (0, slow)], 3).await;
    let query = "{ overview { executions { total succeeded failed timedOut skipped missed } } }";
    let answer = desk.ask(query, json!({})).await;
    assert_eq!(
        answer["overview"]["executions"],
        json!({ "total": 8, "succeeded": 2, "failed": 2, "timedOut": 4, "skipped": 2, "missed": 3 })
    );
}

async fn metrics_are_those_of_the_last_hour(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("tick", "* * * * *").await;
    plant(&desk, &[(61, two_ended()), (59, two_ended()), (1, two_ended())], 1).await;
    let query = "{ metrics { totalSchedules activeSchedules pausedSchedules liveRuns
        executionsPerMinute averageExecutionTimeMs failedExecutionsRate averageLatenessMs
        recoveryEvents oldestUnclaimedMs
        durations { p95 } latenesses { p95 }
        executions { total succeeded failed missed skipped successRate } } }";
    let answer = desk.ask(query, json!({})).await;
    assert_eq!(
        answer["metrics"],
        json!({
            "totalSchedules": 1, "activeSchedules": 1, "pausedSchedules": 0, "liveRuns": 0,
            "executionsPerMinute": 4.0 / 60.0, "averageExecutionTimeMs": 150.0,
            "failedExecutionsRate": 0.5, "averageLatenessMs": 7.0, "recoveryEvents": 0,
            "oldestUnclaimedMs": null, "durations": { "p95": 199 }, "latenesses": { "p95": 7 },
            "executions": { "total": 4, "succeeded": 2, "failed": 2, "missed": 1, "skipped": 2,
                "successRate": 0.4 },
        })
    );
    // The answer is cached for ten seconds; after that it counts due instants that no node has
    // claimed.
    desk.clock.pass(Duration::from_secs(90));
    let answer = desk.ask(query, json!({})).await;
    assert_eq!(answer["metrics"]["oldestUnclaimedMs"], 30_000);
}

async fn ticks_come_at_once_and_again_when_their_time_has_come(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let query = "subscription($since: String) { metricsTick(since: $since) {
        cursor metrics { totalSchedules } } }";
    let first = desk.subscribe(query, json!({})).next().await.unwrap();
    let first = first.data.into_json().unwrap();
    assert_eq!(first["metricsTick"]["metrics"]["totalSchedules"], 0);
    let cursor = first["metricsTick"]["cursor"].clone();
    desk.clock.pass(Duration::from_secs(60));
    let mut later = desk.subscribe(query, json!({ "since": cursor }));
    let later = later.next().await.unwrap().data.into_json().unwrap();
    assert_ne!(later["metricsTick"]["cursor"], cursor);
    for bad in ["", "x", "99999999999999999999"] {
        let refused = desk.subscribe(query, json!({ "since": bad })).next().await.unwrap();
        assert_eq!(refused.errors.len(), 1, "{bad:?}");
    }
}

async fn a_follower_of_the_health_is_notified_of_new_findings(database: TestDatabase) {
    let desk = Desk::open(database).await;
    desk.schedule("tick", "* * * * *").await;
    let query = "subscription($since: String) { healthEvents(since: $since) {
        cursor health { checks { name healthy } } } }";
    let next = async |since: Option<&Value>| {
        let mut events = desk.subscribe(query, json!({ "since": since }));
        let event = tokio::time::timeout(Duration::from_secs(60), events.next()).await;
        let event = event.unwrap().unwrap().data.into_json().unwrap();
        let checks = event["healthEvents"]["health"]["checks"].as_array().unwrap().clone();
        let fails = |name: &str| {
            checks.iter().any(|check| check["name"] == name && check["healthy"] == false)
        };
        (event["healthEvents"]["cursor"].clone(), fails("scheduler"))
    };
    let (before, fails) = next(None).await;
    assert!(!fails);
    desk.clock.pass(Duration::from_secs(600));
    let (after, fails) = next(Some(&before)).await;
    assert!(fails && after != before);
    let refused = desk.subscribe(query, json!({ "since": "x" })).next().await.unwrap();
    assert_eq!(refused.errors.len(), 1);
}
