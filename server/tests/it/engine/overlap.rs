//! The effect of a live previous run on a fire.

use entity::{
    fire::{Reason, Verdict},
    run,
    schedule::Overlap,
};

use super::{
    gate::Gate,
    world::{World, at},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_fire_is_skipped_while_the_run_before_it_is_alive,
    a_fire_is_skipped_while_the_run_before_it_waits_for_its_next_attempt,
    the_latest_of_missed_fires_waits_for_a_run_that_is_alive,
    with_allow_both_run,
);

async fn a_fire_is_skipped_while_the_run_before_it_is_alive(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let mut gate = Gate::open().await;
    let schedule = world.schedule("* * * * *", gate.task(), |_| {}).await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T12:00:00Z"));
    let first = gate.arrival().await;
    clock.set(at("2026-03-01T12:01:00Z"));
    let ledger = world.decided(schedule.id, 2).await;

    let in_the_way = ledger[0].run_id.unwrap();
    assert_eq!((ledger[1].verdict, ledger[1].reason), (Verdict::Skipped, Reason::Overlap));
    assert_eq!(ledger[1].detail, Some(in_the_way.to_string()));
    assert_eq!(ledger[1].run_id, None);

    first.answer(200);
    world.run_is(in_the_way, run::State::Succeeded).await;
    clock.set(at("2026-03-01T12:02:00Z"));
    gate.arrival().await.answer(200);
    let runs = world.settled(schedule.id, 2).await;
    assert_eq!(runs[1].scheduled_at, at("2026-03-01T12:02:00Z").into());
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}

async fn a_fire_is_skipped_while_the_run_before_it_waits_for_its_next_attempt(
    database: TestDatabase,
) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let mut task = gate.task();
    task.retry.max_attempts = 2;
    task.retry.initial_ms = 300_000;
    task.retry.jitter = 0.0;
    let schedule = world.schedule("* * * * *", task, |_| {}).await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T12:01:00Z"));
    gate.arrival().await.answer(500);
    let run = world.runs(schedule.id).await.remove(0);
    world.run_is(run.id, run::State::Retrying).await;
    clock.set(at("2026-03-01T12:02:00Z"));
    let ledger = world.decided(schedule.id, 2).await;
    assert_eq!((ledger[1].verdict, ledger[1].reason), (Verdict::Skipped, Reason::Overlap));
    assert_eq!(ledger[1].detail, Some(run.id.to_string()));
    engine.abandon();
}

/// The latest fire runs in place of the others, so the overlap policy `skip` must not drop it.
async fn the_latest_of_missed_fires_waits_for_a_run_that_is_alive(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let mut gate = Gate::open().await;
    let schedule = world.schedule("* * * * *", gate.task(), |_| {}).await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T12:00:00Z"));
    let first = gate.arrival().await;
    clock.set(at("2026-03-01T12:04:30Z"));
    let waits = world.until("four more fires have rows", || async {
        let ledger = world.ledger(schedule.id).await;
        (ledger.len() == 5).then_some(ledger)
    });
    let ledger = waits.await;
    let verdicts: Vec<_> = ledger[1..].iter().map(|fire| fire.verdict).collect();
    let mut expected = vec![Verdict::Collapsed; 3];
    expected.push(Verdict::Pending);
    assert_eq!(verdicts, expected);
    first.answer(200);
    let second = gate.arrival().await;
    let ledger = world.decided(schedule.id, 5).await;
    assert_eq!((ledger[4].verdict, ledger[4].reason), (Verdict::Started, Reason::CaughtUp));
    second.answer(200);
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}

async fn with_allow_both_run(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let mut gate = Gate::open().await;
    let allow = |row: &mut entity::schedule::Model| row.overlap = Overlap::Allow;
    let schedule = world.schedule("* * * * *", gate.task(), allow).await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T12:00:00Z"));
    let first = gate.arrival().await;
    clock.set(at("2026-03-01T12:01:00Z"));
    let second = gate.arrival().await;
    assert_ne!(first.key, second.key);
    let states: Vec<_> = world.runs(schedule.id).await.iter().map(|run| run.state).collect();
    assert_eq!(states, [run::State::Running; 2]);
    first.answer(200);
    second.answer(200);
    world.settled(schedule.id, 2).await;
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}
