use std::time::Duration;

use entity::{
    backfill_fire::State::{Running, Succeeded},
    fire::Reason,
    run,
    schedule::{self, Overlap},
};
use sea_orm::EntityTrait;

use super::{
    super::{
        gate::Gate,
        groups::{group, running},
        world::{World, at, noop},
    },
    ended, fires, fires_are, key, missing, order, states, usual,
};
use crate::support::{TestDatabase, on_both};

on_both!(
    cancel_other_stops_no_run_of_a_backfill,
    terminate_other_stops_no_run_of_a_backfill,
    a_fire_that_waits_is_released_while_a_run_of_a_backfill_is_alive,
    runs_of_a_backfill_count_in_the_group_of_their_schedule,
    a_backfill_takes_nothing_of_the_schedules_maximum_and_heeds_no_deadline,
);

const NOW: &str = "2026-03-01T12:00:30Z";

async fn cancel_other_stops_no_run_of_a_backfill(database: TestDatabase) {
    gives_way_alone(database, Overlap::CancelOther).await;
}

async fn terminate_other_stops_no_run_of_a_backfill(database: TestDatabase) {
    gives_way_alone(database, Overlap::TerminateOther).await;
}

/// A fire ends a live run of the schedule, and leaves a live run of a backfill alone.
async fn gives_way_alone(database: TestDatabase, overlap: Overlap) {
    let (world, clock) = World::at(database, at(NOW)).await;
    let mut gate = Gate::open().await;
    let schedule = world.schedule("0 * * * *", gate.task(), |row| row.overlap = overlap).await;
    let id = order(&world, missing(&schedule, "11:00:00", "12:00:00"), usual()).await;
    let engine = world.engine().await;
    let of_the_backfill = gate.arrival().await;
    clock.set(at("2026-03-01T13:00:00Z"));
    let _gives_way = gate.arrival().await;
    clock.set(at("2026-03-01T14:00:00Z"));
    let next = gate.arrival().await;
    assert_eq!(next.key, key(&schedule, "14:00:00"));
    assert_eq!(states(&world, id).await, [Running]);
    of_the_backfill.answer(200);
    next.answer(200);
    ended(&world, id).await;
    let runs = world.settled(schedule.id, 3).await;
    let told: Vec<run::State> = runs.iter().map(|run| run.state).collect();
    let (done, stopped) = (run::State::Succeeded, run::State::Cancelled);
    assert_eq!(told, [done, stopped, done]);
    assert_eq!(runs[0].cancel_requested_at, None);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_fire_that_waits_is_released_while_a_run_of_a_backfill_is_alive(database: TestDatabase) {
    let (world, clock) = World::at(database, at(NOW)).await;
    let mut gate = Gate::open().await;
    let buffering = |row: &mut schedule::Model| row.overlap = Overlap::BufferOne;
    let schedule = world.schedule("0 * * * *", gate.task(), buffering).await;
    let id = order(&world, missing(&schedule, "11:00:00", "12:00:00"), usual()).await;
    let engine = world.engine().await;
    let of_the_backfill = gate.arrival().await;
    clock.set(at("2026-03-01T13:00:00Z"));
    let in_the_way = gate.arrival().await;
    clock.set(at("2026-03-01T14:00:00Z"));
    world
        .until("the next fire waits", || async {
            let ledger = world.ledger(schedule.id).await;
            ledger.iter().any(|fire| fire.reason == Reason::Buffered).then_some(())
        })
        .await;
    in_the_way.answer(200);
    let released = gate.arrival().await;
    assert_eq!(released.key, key(&schedule, "14:00:00"));
    assert_eq!(states(&world, id).await, [Running]);
    released.answer(200);
    of_the_backfill.answer(200);
    ended(&world, id).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn runs_of_a_backfill_count_in_the_group_of_their_schedule(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let mut gate = Gate::open().await;
    let group = group(&world, 1).await;
    let schedule = world
        .schedule("0 * * * *", gate.task(), |row| {
            row.enabled = false;
            row.group_id = Some(group);
        })
        .await;
    let mut manner = usual();
    manner.concurrency = 3;
    let id = order(&world, missing(&schedule, "09:00:00", "12:00:00"), manner).await;
    let engine = world.engine().await;
    fires_are(&world, id, &[Running; 3]).await;
    for time in ["09:00:00", "10:00:00", "11:00:00"] {
        let arrival = gate.arrival().await;
        assert_eq!(arrival.key, key(&schedule, time));
        assert_eq!(running(&world, group).await, 1);
        assert!(!gate.has_more());
        arrival.answer(200);
    }
    ended(&world, id).await;
    assert_eq!(states(&world, id).await, [Succeeded; 3]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_backfill_takes_nothing_of_the_schedules_maximum_and_heeds_no_deadline(
    database: TestDatabase,
) {
    let (world, clock) = World::at(database, at(NOW)).await;
    let schedule = world
        .schedule("0 * * * *", noop(), |row| {
            row.max_fires = Some(1);
            row.start_deadline_ms = Some(30_000);
        })
        .await;
    let id = order(&world, missing(&schedule, "10:00:00", "12:00:00"), usual()).await;
    let engine = world.engine().await;
    ended(&world, id).await;
    assert_eq!(states(&world, id).await, [Succeeded; 2]);
    let now = schedule::Entity::find_by_id(schedule.id).one(world.database.store.read()).await;
    assert_eq!(now.unwrap().unwrap(), schedule);
    clock.set(at("2026-03-01T13:00:00Z"));
    let runs = world.settled(schedule.id, 3).await;
    assert_eq!(runs[2].trigger, run::Trigger::Schedule);
    assert!(fires(&world, id).await.iter().all(|fire| fire.run_id != Some(runs[2].id)));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
