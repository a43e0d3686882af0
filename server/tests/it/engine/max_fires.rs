//! Schedules with a maximum number of fires.

use std::time::Duration;

use carillon::engine::planning::accounting;
use entity::{
    fire::{Reason, Verdict},
    schedule::{self, CatchUp, Overlap},
};
use sea_orm::EntityTrait;
use uuid::Uuid;

use super::world::{World, at, ms, noop};
use crate::support::{TestDatabase, on_both};

on_both!(
    after_as_many_fires_as_it_may_have_none_is_left,
    a_fire_that_does_not_start_does_not_count,
    a_catch_up_ends_with_the_last_fire_that_is_left,
    a_resumed_schedule_makes_up_for_no_more_than_are_left,
    a_fire_gives_way_to_none_that_is_not_left,
);

async fn row(world: &World, id: Uuid) -> schedule::Model {
    let row = schedule::Entity::find_by_id(id).one(world.database.store.read()).await;
    row.unwrap().unwrap()
}

async fn after_as_many_fires_as_it_may_have_none_is_left(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T11:59:00Z")).await;
    let schedule = world.schedule("0 * * * *", noop(), |row| row.max_fires = Some(2)).await;
    let witness = world.schedule("0 * * * *", noop(), |_| {}).await;
    let engine = world.engine().await;
    for (hour, fires) in [(12, 1), (13, 2), (14, 3)] {
        clock.set(at(&format!("2026-03-01T{hour}:00:00Z")));
        world.settled(witness.id, fires).await;
    }
    let ledger = world.decided(schedule.id, 2).await;
    assert_eq!(ledger.len(), 2);
    assert!(ledger.iter().all(|fire| fire.verdict == Verdict::Started));
    let row = row(&world, schedule.id).await;
    assert_eq!((row.fire_count, row.next_scheduled_at, row.next_fire_at), (2, None, None));
    assert!(row.enabled);
    world.settled(schedule.id, 2).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_fire_that_does_not_start_does_not_count(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:01:00Z")).await;
    let schedule = world
        .schedule("0 * * * *", noop(), |row| {
            row.max_fires = Some(1);
            row.next_scheduled_at = Some(ms("2026-03-01T12:00:00Z"));
            row.start_deadline_ms = Some(30_000);
        })
        .await;
    let engine = world.engine().await;
    let late = world.decided(schedule.id, 1).await;
    assert_eq!((late[0].verdict, late[0].reason), (Verdict::Skipped, Reason::Deadline));
    assert_eq!(row(&world, schedule.id).await.fire_count, 0);
    clock.set(at("2026-03-01T13:00:00Z"));
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.scheduled_at, ms("2026-03-01T13:00:00Z"));
    assert_eq!(row(&world, schedule.id).await.next_scheduled_at, None);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_catch_up_ends_with_the_last_fire_that_is_left(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:20:00Z")).await;
    let schedule = world
        .schedule("0 * * * *", noop(), |row| {
            row.max_fires = Some(5);
            row.fire_count = 3;
            row.next_scheduled_at = Some(ms("2026-03-01T06:00:00Z"));
            row.catch_up = CatchUp::All;
            row.overlap = Overlap::Allow;
        })
        .await;
    let engine = world.engine().await;
    let runs = world.settled(schedule.id, 2).await;
    let instants: Vec<_> = runs.iter().map(|run| run.scheduled_at).collect();
    assert_eq!(instants, [ms("2026-03-01T06:00:00Z"), ms("2026-03-01T07:00:00Z")]);
    // Instants after the last permitted fire no longer belong to the schedule.
    assert_eq!(world.ledger(schedule.id).await.len(), 2);
    let row = row(&world, schedule.id).await;
    assert_eq!((row.fire_count, row.next_scheduled_at), (5, None));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_resumed_schedule_makes_up_for_no_more_than_are_left(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:20:00Z")).await;
    let schedule = world
        .schedule("0 * * * *", noop(), |row| {
            row.max_fires = Some(2);
            row.fire_count = 1;
            row.enabled = false;
            row.paused_at = Some(ms("2026-03-01T06:00:00Z"));
            row.next_scheduled_at = Some(ms("2026-03-01T07:00:00Z"));
        })
        .await;
    let store = &world.database.store;
    let tx = store.begin().await.unwrap();
    let timings = timetable::Cache::new(10);
    let (all, now) = (timetable::misfire::CatchUp::All, world.clock.now());
    accounting::resume(store, &timings, &tx, schedule.id, None, Some(all), now).await.unwrap();
    store.commit(tx).await.unwrap();
    let ledger = world.ledger(schedule.id).await;
    assert_eq!(ledger.len(), 1);
    assert_eq!(ledger[0].verdict, Verdict::Pending);
    let row = row(&world, schedule.id).await;
    assert_eq!((row.enabled, row.fire_count, row.next_scheduled_at), (true, 2, None));
}

/// Fires that are caught up on do not stop one another, and a fire that waits for its spacing
/// counts as well. So the last fire exceeds the maximum.
async fn a_fire_gives_way_to_none_that_is_not_left(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:01:00Z")).await;
    let hourly = async |overlap, max_fires| {
        let schedule = world.schedule("0 * * * *", noop(), |row| {
            row.overlap = overlap;
            row.max_fires = Some(max_fires);
            row.next_scheduled_at = Some(ms("2026-03-01T10:00:00Z"));
            row.catch_up = CatchUp::All;
            row.catch_up_spacing_ms = 30_000;
        });
        schedule.await.id
    };
    let cancelling = hourly(Overlap::CancelOther, 1).await;
    let terminating = hourly(Overlap::TerminateOther, 1).await;
    let with_room = hourly(Overlap::CancelOther, 2).await;
    let engine = world.engine().await;
    for schedule in [cancelling, terminating] {
        let run = world.settled_run(schedule).await;
        assert_eq!(run.scheduled_at, ms("2026-03-01T10:00:00Z"));
        assert_eq!(world.ledger(schedule).await.len(), 1);
        assert_eq!(row(&world, schedule).await.next_scheduled_at, None);
    }
    let run = world.settled_run(with_room).await;
    assert_eq!(run.scheduled_at, ms("2026-03-01T10:00:00Z"));
    let ledger = world.ledger(with_room).await;
    let fates: Vec<_> = ledger.iter().map(|fire| (fire.verdict, fire.reason)).collect();
    let waits = (Verdict::Pending, Reason::AwaitingHandoff);
    assert_eq!(fates, [(Verdict::Started, Reason::CaughtUp), waits]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
