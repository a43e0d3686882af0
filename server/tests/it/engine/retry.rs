//! Failed attempts, and whether and when they are repeated.

use chrono::TimeDelta;
use entity::{run, task_run};
use timetable::retry::{Backoff, Policy};

use super::{
    gate::Gate,
    world::{World, at},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    each_failed_attempt_is_a_row_and_the_next_waits_twice_as_long,
    an_attempt_that_succeeds_ends_the_run,
);

const POLICY: Policy = Policy {
    max_attempts: 4,
    backoff: Backoff::Exponential,
    initial_ms: 10_000,
    max_ms: 30_000,
    jitter: 0.0,
};

async fn each_failed_attempt_is_a_row_and_the_next_waits_twice_as_long(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let mut task = gate.task();
    task.retry = POLICY;
    let schedule = world.due_now(task, |_| {}).await;
    let engine = world.engine().await;
    let mut keys = Vec::new();
    for (attempt, seconds) in [(1, 10), (2, 20), (3, 30)] {
        let arrival = gate.arrival().await;
        assert_eq!(arrival.attempt(), attempt);
        keys.push(arrival.key.clone());
        arrival.answer(503);
        let run = world.runs(schedule.id).await.remove(0);
        let run = world.run_is(run.id, run::State::Retrying).await;
        let next = clock.now() + TimeDelta::seconds(seconds);
        assert_eq!(run.available_at, next.into());
        clock.set(next - TimeDelta::milliseconds(1));
        assert!(!gate.has_more());
        clock.set(next);
    }
    let last = gate.arrival().await;
    keys.push(last.key.clone());
    last.answer(503);
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::Failed);
    assert!(run.error.unwrap().contains("503"));
    keys.dedup();
    assert_eq!(keys, [run.idempotency_key]);

    let attempts = world.attempts(run.id).await;
    let numbers: Vec<_> = attempts.iter().map(|attempt| attempt.attempt).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert!(attempts.iter().all(|attempt| attempt.state == task_run::State::Failed));
    assert!(attempts.iter().all(|attempt| attempt.finished_at.is_some()));
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}

async fn an_attempt_that_succeeds_ends_the_run(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let mut task = gate.task();
    task.retry = POLICY;
    let schedule = world.due_now(task, |_| {}).await;
    let engine = world.engine().await;
    let first = gate.arrival().await;
    let id = world.runs(schedule.id).await[0].id;
    first.answer(500);
    world.run_is(id, run::State::Retrying).await;
    clock.set(at("2026-03-01T12:00:10Z"));
    gate.arrival().await.answer(200);
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.attempt, run.error), (run::State::Succeeded, 2, None));
    let states: Vec<_> = world.attempts(run.id).await.iter().map(|row| row.state).collect();
    assert_eq!(states, [task_run::State::Failed, task_run::State::Succeeded]);
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}
