//! Statistics: each settled run counts exactly once.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use carillon::{
    clock::ManualClock,
    engine::Engine,
    store::{
        counts::{Counts, Rollup},
        reads::{
            feed::{self, end_of_runs},
            stats::sum,
            within::Within,
        },
        spread::DurationSpread,
        stats::NamespaceMinute,
        workers::awaited::NewJob,
    },
    target::{CommandTarget, Target},
};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, fire, run, run_stat, schedule};
use sea_orm::{ConnectionTrait, EntityTrait, PaginatorTrait};

use super::{
    forge,
    world::{World, at, noop, task},
};
use crate::support::{TestDatabase, job_row, on_both};

on_both!(
    each_run_counts_once_whatever_dies,
    two_that_count_from_the_same_position_do_not_count_twice,
    runs_that_come_after_all_others_were_removed_count,
    fires_without_a_run_count_where_they_were_decided,
    hours_that_are_long_past_have_one_row_and_lose_nothing,
    skipped_fires_are_read_from_their_index_alone,
    what_waits_is_counted_by_the_time_that_it_waits,
    a_count_of_what_waits_leaves_no_minute_out,
);

/// All statistics of the world's namespace.
async fn whole(world: &World) -> Counts {
    let day = Timestamp::from(world.clock.now() + TimeDelta::days(1));
    let within = Within::One(world.namespace);
    sum(&world.database.store, &within, Timestamp(0), day).await.unwrap().counts
}

/// Executes rounds of the statistics until they have reached that count, and two rounds more, in
/// which nothing may be counted again. No schedule fires meanwhile. On PostgreSQL, the feed waits
/// for the oldest transaction of all tests.
async fn counted(
    world: &World,
    engine: &Engine,
    clock: &ManualClock,
    is_it: impl Fn(&Counts) -> bool,
) {
    world.write("UPDATE schedule SET enabled = false", []).await;
    let mut reports = engine.stats_reports();
    let mut round = async || {
        let from = reports.borrow().0;
        clock.advance(Duration::from_secs(10));
        reports.wait_for(|(count, _)| *count > from).await.unwrap();
    };
    let rounds = async {
        while !is_it(&whole(world).await) {
            round().await;
        }
        round().await;
        round().await;
    };
    tokio::time::timeout(Duration::from_secs(60), rounds).await.unwrap();
}

async fn each_run_counts_once_whatever_dies(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let schedule = world.schedule("* * * * *", noop(), |_| {}).await.id;
    let fails =
        CommandTarget { program: Some("/bin/false".to_owned()), ..CommandTarget::default() };
    let failing = world.schedule("*/2 * * * *", task(Target::Command(fails)), |_| {}).await.id;
    for life in 1..=3 {
        let engine = world.engine().await;
        for minute in 1..=2 {
            clock.advance(Duration::from_secs(60));
            // Time must not pass before both schedules have settled: a command that is still at
            // work would exceed its time limit.
            world.settled(schedule, (life - 1) * 2 + minute).await;
            world.settled(failing, life).await;
        }
        if life < 3 {
            // The engine is killed, however far its statistics have come.
            engine.abandon();
        } else {
            counted(&world, &engine, &clock, |sums| sums.ended() >= 9).await;
            engine.shutdown(Duration::from_secs(5)).await.unwrap();
        }
    }
    let sums = whole(&world).await;
    assert_eq!((sums.succeeded, sums.failed, sums.ended()), (6, 3, 9), "{sums:?}");
    assert_eq!((sums.fired, sums.started), (9, 9), "{sums:?}");
    let day = Timestamp::from(world.clock.now() + TimeDelta::days(1));
    let within = Within::One(world.namespace);
    let all = sum(&world.database.store, &within, Timestamp(0), day).await.unwrap();
    let late = all.latenesses.percentile(99).unwrap();
    assert!((late - sums.lateness_max_ms).abs() <= sums.lateness_max_ms / 16, "{late} {sums:?}");
    assert!(all.durations.percentile(50).unwrap() <= all.durations.percentile(99).unwrap());
}

async fn runs_that_come_after_all_others_were_removed_count(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let store = &world.database.store;
    let mut due = Vec::new();
    for _ in 0..3 {
        due.push(world.due_now(noop(), |_| {}).await.id);
    }
    let engine = world.engine().await;
    for schedule in due {
        world.settled(schedule, 1).await;
    }
    counted(&world, &engine, &clock, |sums| sums.ended() >= 3).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    let position = store.counted_until().await.unwrap();

    world.write("DELETE FROM task_run", []).await;
    world.write("DELETE FROM run", []).await;
    let schedule = world.due_now(noop(), |_| {}).await.id;
    let engine = world.engine().await;
    world.settled(schedule, 1).await;
    counted(&world, &engine, &clock, |sums| sums.ended() >= 4).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    assert_eq!(whole(&world).await.succeeded, 4);
    assert!(store.counted_until().await.unwrap() > position);
}

async fn two_that_count_from_the_same_position_do_not_count_twice(database: TestDatabase) {
    let world = World::new(database).await;
    let store = &world.database.store;
    let end = end_of_runs(store).await.unwrap();
    let minute = NamespaceMinute { namespace_id: world.namespace, minute: Timestamp(60_000) };
    let more =
        |ms| Counts { succeeded: 1, duration_sum_ms: ms, duration_max_ms: ms, ..Counts::default() };
    let add = async |before, counts| {
        let tx = store.begin().await.unwrap();
        let counts = [(minute, Rollup { counts, ..Rollup::default() })];
        let added = store.add_counts_if_at(&tx, &counts, before, end).await.unwrap();
        store.commit(tx).await.unwrap();
        added
    };
    assert!(add(None, more(40)).await);
    assert!(!add(None, more(40)).await, "somebody was quicker");
    assert_eq!(store.counted_until().await.unwrap(), Some(end));
    assert!(add(Some(end), more(20)).await);
    let sums = whole(&world).await;
    assert_eq!((sums.succeeded, sums.duration_sum_ms, sums.duration_max_ms), (2, 60, 40));
}

async fn fires_without_a_run_count_where_they_were_decided(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:30Z")).await;
    let skip = |row: &mut schedule::Model| row.catch_up = schedule::CatchUp::Skip;
    let schedule = world.schedule("* * * * *", noop(), skip).await.id;
    let late = |row: &mut schedule::Model| row.start_deadline_ms = Some(1_000);
    let too_late = world.schedule("30 * * * *", noop(), late).await.id;
    clock.advance(Duration::from_secs(30 * 60));
    let engine = world.engine().await;
    world.decided(schedule, 2).await;
    let skipped = world.decided(too_late, 1).await.remove(0);
    assert_eq!(skipped.verdict, fire::Verdict::Skipped);
    counted(&world, &engine, &clock, |sums| sums.missed > 20 && sums.skipped > 0).await;
    let sums = whole(&world).await;
    let ledger = world.ledger(schedule).await;
    let missed = ledger.iter().filter(|fire| fire.verdict == fire::Verdict::Missed);
    assert_eq!(sums.missed, missed.map(|fire| fire.count).sum::<i64>());
    let late = world.ledger(too_late).await;
    let skipped = ledger.iter().chain(&late).filter(|fire| fire.verdict == fire::Verdict::Skipped);
    assert_eq!(sums.skipped, skipped.map(|fire| fire.count).sum::<i64>());
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// A run that took `ms` milliseconds and ended in that minute of 3 March.
fn ended(world: &World, hour: i64, minute: i64, ms: i64) -> (NamespaceMinute, Rollup) {
    let begin = Timestamp::from(at("2026-03-03T00:00:00Z")).0;
    let minute = Timestamp(begin + hour * 3_600_000 + minute * 60_000);
    let counts = Counts {
        succeeded: 1,
        started: 1,
        duration_sum_ms: ms,
        duration_max_ms: ms,
        ..Counts::default()
    };
    let mut durations = DurationSpread::default();
    durations.add(ms);
    let at = NamespaceMinute { namespace_id: world.namespace, minute };
    (at, Rollup { counts, durations, ..Rollup::default() })
}

async fn hours_that_are_long_past_have_one_row_and_lose_nothing(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-05T12:10:00Z")).await;
    let store = &world.database.store;
    let end = end_of_runs(store).await.unwrap();
    let add = async |before, counts: &[(NamespaceMinute, Rollup)]| {
        let tx = store.begin().await.unwrap();
        assert!(store.add_counts_if_at(&tx, counts, before, end).await.unwrap());
        store.commit(tx).await.unwrap();
    };
    // Three whole hours that are old enough to be merged, and half an hour that is not.
    let minutes = (9..12).flat_map(|hour| (0..60).map(move |minute| (hour, minute)));
    let minutes = minutes.chain((0..30).map(|minute| (12, minute)));
    let counts: Vec<_> =
        minutes.map(|(hour, minute)| ended(&world, hour, minute, 20 * minute)).collect();
    add(None, &counts).await;
    let within = Within::One(world.namespace);
    let all = async || {
        let end = Timestamp::from(at("2026-03-04T00:00:00Z"));
        let rows = run_stat::Entity::find().count(store.read()).await.unwrap();
        (rows, sum(store, &within, Timestamp(0), end).await.unwrap())
    };
    let before = all().await.1;
    let rows_are = async |engine: &Engine, rows: u64| {
        let mut reports = engine.stats_reports();
        let made = async {
            while all().await.0 != rows {
                let from = reports.borrow().0;
                clock.advance(Duration::from_secs(10));
                reports.wait_for(|(count, _)| *count > from).await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(60), made).await.expect("rows of hours");
        all().await.1
    };
    let engine = world.engine().await;
    assert_eq!(rows_are(&engine, 3 + 30).await, before);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();

    // A run that is counted later becomes part of its hour when hours are merged the next time.
    let late = ended(&world, 10, 17, 5_000);
    add(store.counted_until().await.unwrap(), std::slice::from_ref(&late)).await;
    assert_eq!(all().await.0, 3 + 1 + 30);
    let engine = world.engine().await;
    let after = rows_are(&engine, 3 + 30).await;
    assert_eq!(after.counts.succeeded, before.counts.succeeded + 1);
    assert_eq!(after.counts.duration_max_ms, 5_000);
    assert_eq!(after.durations.percentile(100), late.1.durations.percentile(100));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn skipped_fires_are_read_from_their_index_alone(database: TestDatabase) {
    let texts = Arc::new(Mutex::new(Vec::new()));
    let seen = texts.clone();
    let store = database.store.clone();
    let store = store.with_observer(move |sql| seen.lock().unwrap().push(sql.to_owned()));
    store.unrun_since(Timestamp(0)).await.unwrap();
    let asked = texts.lock().unwrap().pop().unwrap();
    let tx = store.begin().await.unwrap();
    let (explain, column, how) = if store.dialect().is_postgres() {
        // On an empty database PostgreSQL prefers these plans, so they are disabled.
        for way in ["enable_seqscan", "enable_bitmapscan"] {
            tx.execute_unprepared(&format!("SET LOCAL {way} = off")).await.unwrap();
        }
        ("EXPLAIN (COSTS off)", "QUERY PLAN", "Index Only Scan")
    } else {
        ("EXPLAIN QUERY PLAN", "detail", "COVERING INDEX fire_skipped")
    };
    let asked = asked.replace("$1", "0");
    let statement = store.dialect().statement(format!("{explain} {asked}"), []);
    let rows = tx.query_all_raw(statement).await.unwrap();
    let plan = rows.iter().map(|row| row.try_get::<String>("", column).unwrap());
    let plan = plan.collect::<Vec<_>>().join("\n");
    assert!(plan.contains(how), "{plan}");
    tx.rollback().await.unwrap();
}

/// A job that waits for a worker, or that no attempt waits for any more.
fn job(world: &World, run: &run::Model, awaited_until: DateTime<Utc>) -> NewJob {
    let row = job_row(world.namespace, run.id, run.created_at);
    NewJob { awaited_until: awaited_until.into(), ..row }
}

async fn what_waits_is_counted_by_the_time_that_it_waits(database: TestDatabase) {
    let now = at("2026-03-01T12:00:05Z");
    let (world, clock) = World::at(database, now).await;
    let (hour, store) = (TimeDelta::hours(1), &world.database.store);
    let plant = async |state: run::State, available_at: DateTime<Utc>| {
        let schedule = forge::idle(&world, noop(), |_| {}).await;
        forge::orphan(&world, &schedule, |run| {
            (run.state, run.available_at) = (state, available_at.into());
        })
        .await
    };
    let queued = plant(run::State::Queued, now).await;
    plant(run::State::Retrying, now).await;
    plant(run::State::Retrying, now + hour).await;
    let (running, left) =
        (plant(run::State::Running, now).await, plant(run::State::Running, now).await);
    let jobs = [job(&world, &running, now + hour), job(&world, &left, now - hour)];
    store.add_jobs(&jobs, now.into()).await.unwrap();

    let (node, mut stats) = world.step("stats").await;
    let mut waited = async |seconds| {
        clock.advance(Duration::from_secs(seconds));
        stats.once(world.clock.now()).await.unwrap();
        let sums = whole(&world).await;
        (sums.runs_waited_ms, sums.jobs_waited_ms)
    };
    assert_eq!(waited(0).await, (0, 0), "since when they have waited is unknown");
    assert_eq!(waited(10).await, (20_000, 10_000));
    assert_eq!(waited(1).await, (20_000, 10_000), "it is too early to count again");
    assert_eq!(waited(9).await, (40_000, 20_000));
    let start = "UPDATE run SET state = 'running' WHERE id = $1";
    world.write(start, [queued.id.into()]).await;
    world.write("UPDATE job SET state = 'held'", []).await;
    assert_eq!(waited(10).await, (50_000, 20_000));
    world.write("UPDATE run SET state = 'running'", []).await;
    assert_eq!(waited(60).await, (50_000, 20_000));
    // The counts of a minute are those of its row, and a minute without a queue has none.
    let rows = run_stat::Entity::find().all(store.read()).await.unwrap();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0].minute, Timestamp::from(at("2026-03-01T12:00:00Z")));
    node.abandon();
}

async fn a_count_of_what_waits_leaves_no_minute_out(database: TestDatabase) {
    let now = at("2026-03-01T12:00:55Z");
    let (world, clock) = World::at(database, now).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    forge::orphan(&world, &schedule, |run| {
        (run.state, run.available_at) = (run::State::Queued, now.into());
    })
    .await;
    let (node, mut stats) = world.step("stats").await;
    stats.once(world.clock.now()).await.unwrap();
    // Some counts stand for a part of the minute before.
    for _ in 0..7 {
        clock.advance(Duration::from_secs(20));
        stats.once(world.clock.now()).await.unwrap();
    }
    let rows = run_stat::Entity::find().all(world.database.store.read()).await.unwrap();
    let mut rows: Vec<(String, i64)> = rows
        .iter()
        .map(|row| (row.minute.utc().format("%H:%M").to_string(), row.runs_waited_ms))
        .collect();
    rows.sort();
    let expected = [("12:00", 5_000), ("12:01", 60_000), ("12:02", 60_000), ("12:03", 15_000)];
    assert_eq!(rows, expected.map(|(minute, waited)| (minute.to_owned(), waited)));
    node.abandon();
}

/// The statements of docs/operations.md for a dump that was loaded into another cluster.
fn after_a_restore() -> &'static str {
    const OPERATIONS: &str = include_str!("../../../../docs/operations.md");
    OPERATIONS.split_once("```sql\n").unwrap().1.split_once("```").unwrap().0
}

#[tokio::test]
async fn a_dump_from_a_cluster_with_higher_ids_is_counted_on_from_where_it_was() {
    let database = TestDatabase::postgres().await;
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let mut due = Vec::new();
    for _ in 0..3 {
        due.push(world.due_now(noop(), |_| {}).await.id);
    }
    let engine = world.engine().await;
    let mut runs = Vec::new();
    for schedule in due {
        runs.extend(world.settled(schedule, 1).await);
    }
    counted(&world, &engine, &clock, |sums| sums.ended() >= 3).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    for far in [
        "UPDATE run SET changed = changed + 1000000000000",
        "UPDATE stat_position SET changed = changed + 1000000000000",
        "UPDATE schedule SET changed = changed + 1000000000000",
    ] {
        world.write(far, []).await;
    }
    // Makes one run look as if it had settled while the others were counted.
    let late = "UPDATE run SET changed = 5 + \
        (SELECT changed FROM stat_position WHERE feed = 'run') WHERE id = $1";
    world.write(late, [runs[0].id.into()]).await;

    let store = &world.database.store;
    assert!(feed::is_ahead(store).await.unwrap());
    let tx = store.begin().await.unwrap();
    let statements = after_a_restore().replace("BEGIN;", "").replace("COMMIT;", "");
    tx.execute_unprepared(&statements).await.unwrap();
    store.commit(tx).await.unwrap();
    assert!(!feed::is_ahead(store).await.unwrap());
    let schedule = world.due_now(noop(), |_| {}).await.id;
    let engine = world.engine().await;
    world.settled(schedule, 1).await;
    counted(&world, &engine, &clock, |sums| sums.ended() >= 5).await;
    assert_eq!(whole(&world).await.succeeded, 5, "the three, the one that was late, the new one");
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
