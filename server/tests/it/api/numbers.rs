//! Numbers that exceed the 32 bits of an `Int`.

use std::collections::BTreeSet;

use carillon::store::{
    counts::{Counts, Rollup},
    namespaces,
    reads::feed::end_of_runs,
    stats::NamespaceMinute,
};
use chrono::TimeDelta;
use entity::Timestamp;
use sea_orm::ConnectionTrait;
use serde_json::json;

use super::{
    desk::{Desk, noon},
    walk::Walk,
};
use crate::support::{TestDatabase, on_both};

on_both!(numbers_beyond_an_int_are_longs, fields_in_milliseconds_or_bytes_are_no_ints,);

/// A number that does not fit in an `Int`: 58 days in milliseconds.
const MANY: i64 = 5_000_000_000;

/// Makes existing rows longer, later and more numerous than an `Int` can represent.
async fn outgrow(desk: &Desk) {
    let store = &desk.database.store;
    let namespace_id = namespaces::by_name(store.read(), "default").await.unwrap().unwrap().id;
    let counts = Counts {
        succeeded: MANY,
        failed: MANY,
        timed_out: MANY,
        cancelled: MANY,
        recovered: MANY,
        started: MANY,
        duration_sum_ms: MANY,
        duration_max_ms: MANY,
        fired: MANY,
        lateness_sum_ms: MANY,
        lateness_max_ms: MANY,
        ..Counts::default()
    };
    let minute =
        NamespaceMinute { namespace_id, minute: Timestamp::from(noon() - TimeDelta::minutes(1)) };
    let rollup = Rollup { counts, ..Rollup::default() };
    let end = end_of_runs(store).await.unwrap();
    let tx = store.begin().await.unwrap();
    assert!(store.add_counts_if_at(&tx, &[(minute, rollup)], None, end).await.unwrap());
    for sql in [
        "UPDATE run SET started_at = due_at + 5000000000, finished_at = due_at + 10000000000",
        "UPDATE task_run SET finished_at = started_at + 5000000000",
        "UPDATE fire SET count = 5000000000",
        "UPDATE schedule SET fire_count = 5000000000",
        "UPDATE alert SET count = 5000000000",
        "UPDATE run_stat SET missed = 5000000000, skipped = 5000000000, abandoned = 5000000000",
    ] {
        tx.execute_unprepared(sql).await.unwrap();
    }
    store.commit(tx).await.unwrap();
}

async fn numbers_beyond_an_int_are_longs(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let walk = Walk::begin(&desk).await;
    outgrow(&desk).await;
    let mut large = BTreeSet::new();
    let mut asked: Vec<String> = walk.deep_fields().into_iter().map(|asked| asked.text).collect();
    // The walk queries statistics for one schedule, which are computed from its runs; this asks for
    // those of all.
    asked.push("runStats { points { ended missed skipped abandoned maxDurationMs } }".to_owned());
    for text in asked {
        let answer = desk.ask(&format!("{{ {text} }}"), json!({})).await;
        for told in walk.numbers(&answer) {
            if told.number.abs() > f64::from(i32::MAX) {
                assert_eq!(told.scalar, "Long", "{} in {text}", told.field);
                large.insert(told.field);
            }
        }
    }
    // Unless these fields exceed an `Int`, this test shows nothing.
    for field in [
        "Alert.count",
        "Executions.abandoned",
        "Executions.total",
        "Fire.count",
        "Metrics.maxLatenessMs",
        "Metrics.recoveryEvents",
        "Run.durationMs",
        "Run.latenessMs",
        "RunStat.ended",
        "RunStat.maxDurationMs",
        "RunStat.missed",
        "Schedule.fireCount",
        "TaskRun.durationMs",
    ] {
        assert!(large.contains(field), "{field} of {large:?}");
    }
}

async fn fields_in_milliseconds_or_bytes_are_no_ints(database: TestDatabase) {
    let desk = Desk::open(database).await;
    let walk = Walk::begin(&desk).await;
    let measures = [walk.scalars("Ms"), walk.scalars("Bytes")].concat();
    assert!(measures.len() > 8, "{measures:?}");
    for (field, scalar) in measures {
        // A quota's own numbers are of type Long.
        assert!(["Long", "Float", "Quota"].contains(&scalar), "{field} is of {scalar}");
    }
}
