//! The daily partitions of the ledger on PostgreSQL: created ahead of time, and dropped when they
//! are old enough.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use carillon::store::retention::{Layout, TableFamily};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, fire, run};
use sea_orm::{ConnectionTrait, EntityTrait, FromQueryResult};

use super::{
    forge,
    world::{World, at, noop},
};
use crate::support::TestDatabase;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn noon() -> DateTime<Utc> {
    at("2026-03-01T12:00:00Z")
}

async fn layout(world: &World, family: TableFamily) -> Layout {
    let store = &world.database.store;
    store.partitions(store.read(), family).await.unwrap()
}

/// The partition in which a run's row lies.
async fn place(world: &World, id: uuid::Uuid) -> String {
    #[derive(FromQueryResult)]
    struct RunPlace {
        place: String,
    }
    let store = &world.database.store;
    let sql = "SELECT tableoid::regclass::text AS place FROM run WHERE id = $1";
    let row = RunPlace::find_by_statement(store.dialect().statement(sql, [id.into()]));
    row.one(store.read()).await.unwrap().unwrap().place
}

#[tokio::test]
async fn a_week_of_days_is_made_ahead_and_one_more_each_day() {
    let (world, clock) = World::at(TestDatabase::postgres().await, noon()).await;
    let report = world.retain(45).await;
    assert_eq!((report.made, report.dropped, report.postponed), (16, 0, 0), "{report:?}");
    for family in TableFamily::ALL {
        let layout = layout(&world, family).await;
        assert_eq!(layout.stretches.len(), 8);
        assert_eq!(Timestamp(layout.beyond).utc(), at("2026-03-09T00:00:00Z"));
    }
    assert_eq!(world.retain(45).await.made, 0);
    clock.advance(DAY);
    assert_eq!(world.retain(45).await.made, 2);

    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let today = world.past(&schedule, 0, 1, |_, _| {}).await;
    assert_eq!(place(&world, today).await, "run_20260302");
    let yesterday = world.past(&schedule, 1, 1, |_, _| {}).await;
    assert_eq!(place(&world, yesterday).await, "run_19700101", "the days before the first round");
    let far = world.past(&schedule, -300, 1, |_, _| {}).await;
    assert_eq!(place(&world, far).await, "run_beyond");
}

#[tokio::test]
async fn a_day_that_comes_near_takes_its_rows_from_beyond() {
    let (world, clock) = World::at(TestDatabase::postgres().await, noon()).await;
    world.retain(45).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let skipped = world.past(&schedule, -10, 1, |_, _| {}).await;
    assert_eq!(place(&world, skipped).await, "run_beyond");
    clock.advance(4 * DAY);
    world.retain(45).await;
    assert_eq!(place(&world, skipped).await, "run_20260311");
    assert_eq!(world.sizes().await, [1, 1, 1, 1]);
}

#[tokio::test]
async fn a_day_is_dropped_as_a_whole_when_all_of_it_is_old_enough() {
    let (world, clock) = World::at(TestDatabase::postgres().await, noon()).await;
    world.retain(45).await;
    clock.advance(DAY);
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    for _ in 0..20 {
        clock.advance(Duration::from_secs(1));
        world.past(&schedule, 0, 2, |_, _| {}).await;
    }
    clock.advance(46 * DAY);
    let almost = world.retain(45).await;
    assert_eq!((almost.runs, almost.lines), (0, 0), "{almost:?}");
    clock.advance(DAY);
    let report = world.retain(45).await;
    assert_eq!((report.fires, report.runs, report.attempts, report.lines), (20, 20, 20, 40));
    assert_eq!((report.dropped, report.chunks), (2, 0), "{report:?}");
    assert_eq!(world.sizes().await, [0, 0, 0, 0]);
    let days = layout(&world, TableFamily::Runs).await.stretches;
    assert_eq!(Timestamp(days[0].from).utc(), at("2026-03-03T00:00:00Z"));
}

#[tokio::test]
async fn what_is_alive_in_a_day_that_goes_is_kept_with_all_that_it_has() {
    let (world, clock) = World::at(TestDatabase::postgres().await, noon()).await;
    world.retain(45).await;
    clock.advance(DAY);
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let alive = world
        .past(&schedule, 0, 3, |_, run| {
            (run.state, run.finished_at) = (run::State::Retrying, None);
        })
        .await;
    clock.advance(Duration::from_secs(1));
    let gone = world.past(&schedule, 0, 3, |_, _| {}).await;
    clock.advance(47 * DAY);
    let report = world.retain(45).await;
    assert_eq!((report.fires, report.runs, report.lines), (1, 1, 3), "{report:?}");
    assert_eq!(report.dropped, 4);
    assert_eq!(place(&world, alive).await, "run_past");
    assert_eq!(world.sizes().await, [1, 1, 1, 3]);
    let read = world.database.store.read();
    assert!(fire::Entity::find().all(read).await.unwrap()[0].run_id == Some(alive));
    assert!(run::Entity::find_by_id(gone).one(read).await.unwrap().is_none());
    // The run has settled, so from now on it ages like all others.
    let ended = Timestamp::from(world.clock.now());
    let sql = "UPDATE run SET state = 'failed', finished_at = $2 WHERE id = $1";
    world.write(sql, [alive.into(), ended.0.into()]).await;
    clock.advance(44 * DAY);
    assert_eq!(world.retain(45).await.runs, 0);
    clock.advance(3 * DAY);
    assert_eq!(world.retain(45).await.runs, 1);
    assert_eq!(world.sizes().await, [0, 0, 0, 0]);
}

#[tokio::test]
async fn a_table_that_is_in_use_is_left_for_later() {
    let (world, clock) = World::at(TestDatabase::postgres().await, noon()).await;
    world.retain(45).await;
    clock.advance(DAY);
    let busy = world.database.store.begin().await.unwrap();
    busy.execute_unprepared("SELECT count(*) FROM run").await.unwrap();
    let report = world.retain(45).await;
    assert_eq!((report.made, report.postponed), (1, 1), "{report:?}");
    busy.rollback().await.unwrap();
    let report = world.retain(45).await;
    assert_eq!((report.made, report.postponed), (1, 0), "{report:?}");
}

#[tokio::test]
async fn a_server_that_was_away_for_months_goes_on() {
    let (world, clock) = World::at(TestDatabase::postgres().await, noon()).await;
    world.retain(45).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    world.past(&schedule, 0, 1, |_, _| {}).await;
    clock.advance(200 * DAY);
    let late = world.past(&schedule, 2, 1, |_, _| {}).await;
    assert_eq!(place(&world, late).await, "run_beyond");
    let report = world.retain(45).await;
    assert_eq!((report.runs, report.postponed), (1, 0), "{report:?}");
    assert_eq!(place(&world, late).await, "run_20260309");
    let days = layout(&world, TableFamily::Runs).await;
    let tomorrow = world.clock.now() + TimeDelta::days(1);
    assert!(days.stretches.iter().any(|day| Timestamp(day.to).utc() > tomorrow));
    assert_eq!(world.sizes().await, [1, 1, 1, 1]);
}

#[tokio::test]
async fn a_day_whose_last_runs_ended_in_the_next_one_still_goes_as_a_whole() {
    let (world, clock) = World::at(TestDatabase::postgres().await, noon()).await;
    world.retain(45).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    // On several days, runs begin just before midnight and end an hour after it.
    clock.advance(DAY / 2 - Duration::from_secs(60));
    for _ in 0..5 {
        world.retain(45).await;
        for _ in 0..3 {
            clock.advance(Duration::from_secs(1));
            let end = Timestamp::from(clock.clock().now() + TimeDelta::hours(1));
            world.past(&schedule, 0, 2, |_, run| run.finished_at = Some(end)).await;
        }
        clock.advance(DAY - Duration::from_secs(3));
    }
    let mut reports = Vec::new();
    for _ in 0..50 {
        reports.push(world.retain(45).await);
        clock.advance(DAY);
    }
    assert_eq!(world.sizes().await, [0, 0, 0, 0]);
    let chunks: usize = reports.iter().map(|report| report.chunks).sum();
    // The first pending fire lies in the partition that precedes the first day.
    assert!(chunks <= 4, "{chunks} chunks: {reports:?}");
}

#[tokio::test]
async fn long_kept_history_is_partitioned_and_dropped_by_week() {
    let (world, clock) = World::at(TestDatabase::postgres().await, noon()).await;
    world.retain(365).await;
    clock.advance(DAY);
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    for _ in 0..14 {
        world.retain(365).await;
        world.past(&schedule, 0, 1, |_, _| {}).await;
        clock.advance(DAY);
    }
    clock.advance(351 * DAY);
    let mut chunks = 0;
    for _ in 0..17 {
        chunks += world.retain(365).await.chunks;
        clock.advance(DAY);
    }
    assert_eq!(chunks, 0);
    let [fires, runs, ..] = world.sizes().await;
    assert!(fires < 14 && runs < 14, "{fires} {runs}");
}

#[tokio::test]
async fn rows_written_while_a_day_is_searched_are_kept() {
    for (written, place_of_them) in [(20, "fire_past"), (1_100, "fire_20260302")] {
        let (mut world, clock) = World::at(TestDatabase::postgres().await, noon()).await;
        world.retain(45).await;
        clock.advance(DAY);
        let schedule = forge::idle(&world, noop(), |_| {}).await;
        let old = world.past(&schedule, 0, 1, |_, _| {}).await;
        clock.advance(47 * DAY);
        let url = world.database.url.clone();
        let once = AtomicBool::new(true);
        world.database.store = world.database.store.clone().with_observer(move |sql| {
            let looked = sql.contains("pg_relation_size") && sql.contains("fire_20260302");
            if looked && once.swap(false, Ordering::Relaxed) {
                write_pending(&url, old, written);
            }
        });
        world.retain(45).await;
        let read = world.database.store.read();
        #[derive(FromQueryResult)]
        struct PlaceCount {
            place: String,
            found: i64,
        }
        let sql =
            "SELECT tableoid::regclass::text AS place, count(*) AS found FROM fire GROUP BY 1";
        let statement = world.database.store.dialect().statement(sql, []);
        let rows = PlaceCount::find_by_statement(statement).all(read).await.unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!((&*rows[0].place, rows[0].found), (place_of_them, written));
    }
}

/// Adds `count` fires that wait for their hand-off to the day of the fire `of`, and returns once
/// they are written.
fn write_pending(url: &str, of: uuid::Uuid, count: i64) {
    let sql = format!(
        "INSERT INTO fire SELECT (jsonb_populate_record(f, jsonb_build_object( \
           'id', 'ffffffff' || substr(gen_random_uuid()::text, 9), 'run_id', null, \
           'scheduled_at', f.scheduled_at + n, 'verdict', 'pending', 'decided_at', null))).* \
         FROM fire f, generate_series(1, {count}) n WHERE f.id = '{of}'"
    );
    let write = async |url: String| {
        let connection = sea_orm::Database::connect(url).await.unwrap();
        connection.execute_unprepared(&sql).await.unwrap();
        connection.close().await.unwrap();
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(write(url.to_owned()));
        });
    });
}
