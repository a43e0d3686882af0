//! Time limits of a run that no node can take: its start deadline, and the limit of the whole run.

use std::time::Duration;

use carillon::{config::Tags, model::Definition};
use entity::{
    fire::{Reason, Verdict},
    run,
    task_run::State,
};

use super::{
    flow::states,
    gate::Gate,
    groups::group,
    held_up::ticking,
    world::{World, at, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_run_that_nobody_can_take_does_not_start_after_its_deadline,
    a_late_run_that_nobody_takes_is_in_the_way_of_no_later_fire,
    the_time_of_a_run_that_nobody_takes_up_again_passes,
);

fn asks_for(tag: &str, definition: impl Into<Definition>) -> Definition {
    Definition { runs_on: vec![tag.to_owned()], ..definition.into() }
}

async fn a_run_that_nobody_can_take_does_not_start_after_its_deadline(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.settings.capacity = 2;
    let mut gate = Gate::open().await;
    let group = group(&world, 1).await;
    let in_the_way = world.due_now(gate.task(), |row| row.group_id = Some(group)).await;
    let engine = world.engine().await;
    let at_work = gate.arrival().await;
    let strict = |row: &mut entity::schedule::Model| row.start_deadline_ms = Some(30_000);
    let tagged = world.due_now(asks_for("gpu", noop()), strict).await;
    let grouped = world.due_now(noop(), |row| {
        strict(row);
        row.group_id = Some(group);
    });
    let grouped = grouped.await;
    let patient = world.due_now(asks_for("gpu", noop()), |_| {}).await;
    let other = world.due_now(gate.task(), |_| {}).await;
    let also_at_work = gate.arrival().await;
    // From now on the node has no free place either.
    let placeless = world.due_now(noop(), strict).await;
    for schedule in [&tagged, &grouped, &patient, &placeless] {
        let fire = world.decided(schedule.id, 1).await.remove(0);
        assert_eq!((fire.verdict, fire.reason), (Verdict::Started, Reason::OnTime));
    }
    // Recovery runs at intervals, which this clock measures.
    let _time = ticking(&clock);
    clock.advance(Duration::from_secs(31));
    for schedule in [&tagged, &grouped, &placeless] {
        let run = world.settled_run(schedule.id).await;
        assert_eq!((run.state, run.attempt), (run::State::Cancelled, 0));
        assert_eq!(run.cancel_reason.as_deref(), Some("its start deadline had passed"));
        assert!(world.attempts(run.id).await.is_empty());
        let fire = world.ledger(schedule.id).await.remove(0);
        assert_eq!((fire.verdict, fire.reason), (Verdict::Skipped, Reason::Deadline));
        assert_eq!((fire.run_id, fire.decided_at), (Some(run.id), run.finished_at));
    }
    assert_eq!(world.runs(patient.id).await[0].state, run::State::Queued);
    for (schedule, arrival) in [(in_the_way, at_work), (other, also_at_work)] {
        arrival.answer(200);
        assert_eq!(world.settled_run(schedule.id).await.state, run::State::Succeeded);
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_late_run_that_nobody_takes_is_in_the_way_of_no_later_fire(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let schedule = world.schedule("*/5 * * * *", asks_for("gpu", noop()), |row| {
        row.start_deadline_ms = Some(60_000);
    });
    let schedule = schedule.await.id;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T12:00:00Z"));
    world.decided(schedule, 1).await;
    // The clock must move until the end: a heartbeat that coincides with a tick shifts the node's
    // own time by that tick, and on a clock that stands still the next fire might then never be
    // due.
    let _time = ticking(&clock);
    clock.set(at("2026-03-01T12:04:00Z"));
    world.settled(schedule, 1).await;
    clock.set(at("2026-03-01T12:05:00Z"));
    let fates = world.decided(schedule, 2).await;
    let fates: Vec<_> = fates.iter().map(|fire| (fire.verdict, fire.reason)).collect();
    let expected = [(Verdict::Skipped, Reason::Deadline), (Verdict::Started, Reason::OnTime)];
    assert_eq!(fates, expected);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn the_time_of_a_run_that_nobody_takes_up_again_passes(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.settings.tags = Tags::new(vec!["gpu".to_owned()]);
    let mut gate = Gate::open().await;
    let mut tried = gate.task();
    tried.retry.max_attempts = 10;
    tried.retry.initial_ms = 30_000;
    tried.retry.jitter = 0.0;
    let limited = |limit: i64, task| {
        asks_for("gpu", Definition { timeout_ms: Some(limit), ..Definition::single(task) })
    };
    let short = world.due_now(limited(90_000, tried.clone()), |_| {}).await;
    let long = world.due_now(limited(600_000, tried.clone()), |_| {}).await;
    let unlimited = world.due_now(asks_for("gpu", tried), |_| {}).await;
    let engine = world.engine().await;
    for _ in 0..3 {
        gate.arrival().await.answer(500);
    }
    for schedule in [&short, &long, &unlimited] {
        let run = world.until("the run is there", async || world.runs(schedule.id).await.pop());
        world.run_is(run.await.id, run::State::Retrying).await;
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();

    // The only node with the required tag has left.
    world.settings.tags = Tags::default();
    let engine = world.engine().await;
    let _time = ticking(&clock);
    clock.advance(Duration::from_secs(90));
    let run = world.settled_run(short.id).await;
    assert_eq!(run.state, run::State::TimedOut);
    assert!(run.error.as_deref().unwrap().contains("90000 ms"), "{:?}", run.error);
    assert!(run.finished_at.is_some());
    assert_eq!(states(&world, run.id, "main").await, [State::Failed]);
    let fire = world.ledger(short.id).await.remove(0);
    assert_eq!((fire.verdict, fire.reason), (Verdict::Started, Reason::OnTime));
    for schedule in [&long, &unlimited] {
        assert_eq!(world.runs(schedule.id).await[0].state, run::State::Retrying);
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
