//! A clock that is stepped, forward and backward: nothing is lost, nothing fires twice.

use std::time::Duration;

use entity::{
    fire::{Reason, Verdict},
    run,
};

use super::{
    forge,
    world::{World, at, ms, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_clock_that_is_stepped_loses_nothing_and_fires_nothing_twice,
    a_running_attempt_outlives_a_step_of_the_clock,
    a_clock_that_is_stepped_back_stops_no_heartbeat,
    past_instants_end_with_the_range_that_reaches_furthest,
);

async fn a_clock_that_is_stepped_loses_nothing_and_fires_nothing_twice(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let schedule = world.schedule("* * * * *", noop(), |_| {}).await;
    let engine = world.engine().await;
    let mut settled = 0;
    // The clock is right; then two hours ahead; then set back by an hour and a half; then right
    // again; then set back by a second.
    for (now, more) in [
        ("2026-03-01T12:00:00Z", 1),
        ("2026-03-01T12:01:00Z", 1),
        ("2026-03-01T14:00:00Z", 1),
        ("2026-03-01T12:30:00Z", 0),
        ("2026-03-01T12:31:00Z", 0),
        ("2026-03-01T14:00:30Z", 0),
        ("2026-03-01T14:01:00Z", 1),
        ("2026-03-01T14:00:59Z", 0),
        ("2026-03-01T14:02:00.500Z", 1),
    ] {
        let mut rounds = engine.planner_reports();
        rounds.mark_unchanged();
        clock.set(at(now));
        world.signals.wake_planner();
        tokio::time::timeout(Duration::from_secs(60), rounds.changed()).await.unwrap().unwrap();
        settled += more;
        let runs = world.settled(schedule.id, settled).await;
        assert_eq!(runs.len(), settled, "at {now}");
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();

    let ledger = world.ledger(schedule.id).await;
    assert_eq!(ledger[0].scheduled_at, ms("2026-03-01T12:00:00Z"));
    assert_eq!(ledger.last().unwrap().last_scheduled_at, ms("2026-03-01T14:02:00Z"));
    for pair in ledger.windows(2) {
        assert_eq!(pair[0].last_scheduled_at.0 + 60_000, pair[1].scheduled_at.0);
    }
    assert_eq!(ledger.iter().map(|fire| fire.count).sum::<i64>(), 123);
    // When a step made several instants due at once, the newest ran in place of the others.
    let expected = [
        (Verdict::Started, Reason::OnTime),
        (Verdict::Started, Reason::Late),
        (Verdict::Started, Reason::CaughtUp),
        (Verdict::Collapsed, Reason::Outage),
    ];
    for fire in &ledger {
        assert!(expected.contains(&(fire.verdict, fire.reason)), "{fire:?}");
    }
    let runs = world.runs(schedule.id).await;
    assert_eq!(runs.len(), settled);
    for run in runs {
        assert_eq!(world.attempts(run.id).await.len(), 1);
    }
}

/// The time limits of an attempt are durations, which a step of the wall clock does not change.
async fn a_running_attempt_outlives_a_step_of_the_clock(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = super::gate::Gate::open().await;
    let schedule = world.due_now(gate.task(), |_| {}).await;
    let engine = world.engine().await;
    let arrival = gate.arrival().await;
    let mut rounds = engine.recovery_reports();
    for now in ["2026-03-03T12:00:00Z", "2026-02-20T12:00:00Z", "2026-02-22T12:00:01Z"] {
        rounds.mark_unchanged();
        clock.set(at(now));
        clock.advance(world.settings.recovery_interval);
        let looked = tokio::time::timeout(Duration::from_secs(60), rounds.changed()).await;
        looked.expect("recovery looks").unwrap();
    }
    arrival.answer(200);
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.attempt), (run::State::Succeeded, 1));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// If the heartbeat stopped, the other nodes would declare this node dead and start its runs again.
async fn a_clock_that_is_stepped_back_stops_no_heartbeat(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let engine = world.engine().await;
    let mut beats = engine.pulse_reports();
    beats.wait_for(|(count, _)| *count > 0).await.unwrap();
    clock.set(at("2026-03-01T11:50:00Z"));
    for _ in 0..3 {
        beats.mark_unchanged();
        clock.advance(world.settings.heartbeat_interval);
        let beat = tokio::time::timeout(Duration::from_secs(60), beats.changed()).await;
        beat.expect("the heart beats").unwrap();
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// A new timing begins after the last instant that any clock has reached.
async fn past_instants_end_with_the_range_that_reaches_furthest(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T15:00:00Z")).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let store = &world.database.store;
    let past = async || store.last_past_instant(store.read(), schedule.id).await.unwrap();
    assert_eq!(past().await, None);
    for (first, last, count) in [
        // One row covers three hours. One instant within them has its own row as well.
        ("2026-03-01T12:00:00Z", "2026-03-01T14:59:00Z", 180),
        ("2026-03-01T13:30:00Z", "2026-03-01T13:30:00Z", 1),
        // Instants that were skipped in advance.
        ("2026-03-01T16:00:00Z", "2026-03-01T17:00:00Z", 2),
        ("2026-03-01T18:00:00Z", "2026-03-01T18:00:00Z", 1),
    ] {
        forge::intent(&world, &schedule, |fire| {
            (fire.verdict, fire.reason) = (Verdict::Skipped, Reason::ByRequest);
            (fire.scheduled_at, fire.last_scheduled_at) = (ms(first), ms(last));
            (fire.count, fire.decided_at) = (count, Some(fire.claimed_at));
        })
        .await;
    }
    assert_eq!(past().await, Some(ms("2026-03-01T14:59:00Z")));
}
