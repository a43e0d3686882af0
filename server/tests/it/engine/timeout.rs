//! Attempts that take too long.

use std::time::Duration;

use entity::{run, task_run};

use super::{
    forge,
    gate::Gate,
    world::{World, at},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    an_attempt_over_its_time_limit_is_stopped_and_timed_out,
    a_timed_out_attempt_is_followed_by_another_if_the_policy_says_so,
    an_attempt_that_its_node_fails_to_end_is_ended_by_recovery,
    a_node_does_not_time_out_its_own_attempt_by_the_wall_clock,
);

async fn an_attempt_over_its_time_limit_is_stopped_and_timed_out(database: TestDatabase) {
    let world = World::new(database).await;
    // Nobody answers there, whether or not the request comes so far in time.
    let gate = Gate::open().await;
    let mut task = gate.task();
    task.timeout_ms = 50;
    let schedule = world.due_now(task, |_| {}).await;
    let engine = world.engine().await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::TimedOut);
    assert!(run.error.is_some());
    let attempts = world.attempts(run.id).await;
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].state, task_run::State::TimedOut);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_timed_out_attempt_is_followed_by_another_if_the_policy_says_so(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let mut task = gate.task();
    task.timeout_ms = 2_000;
    task.retry.max_attempts = 2;
    task.retry.initial_ms = 0;
    let schedule = world.due_now(task, |_| {}).await;
    let engine = world.engine().await;
    let _unanswered = gate.arrival().await;
    clock.advance(Duration::from_secs(2));
    gate.arrival().await.answer(200);
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::Succeeded);
    let states: Vec<_> = world.attempts(run.id).await.iter().map(|row| row.state).collect();
    assert_eq!(states, [task_run::State::TimedOut, task_run::State::Succeeded]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The other node is alive, but the attempt on it is stuck.
async fn an_attempt_that_its_node_fails_to_end_is_ended_by_recovery(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let mut task = gate.task();
    task.retry.initial_ms = 0;
    let schedule = forge::idle(&world, task, |_| {}).await;
    let other = forge::node(&world).await;
    let run = forge::orphan(&world, &schedule, |run| {
        run.node_id = Some(other);
        run.hard_deadline_at = Some(run.created_at);
        run.max_attempts = 2;
    })
    .await;
    let engine = world.engine().await;
    let second = gate.arrival().await;
    assert_eq!(second.attempt(), 2);
    second.answer(200);
    let settled = world.settled_run(schedule.id).await;
    assert_eq!((settled.state, settled.is_recovery), (run::State::Succeeded, false));
    let states: Vec<_> = world.attempts(run.id).await.iter().map(|row| row.state).collect();
    assert_eq!(states, [task_run::State::TimedOut, task_run::State::Succeeded]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// As after a step of the clock: the deadline is past, the time that the task may take is not.
async fn a_node_does_not_time_out_its_own_attempt_by_the_wall_clock(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let schedule = world.due_now(gate.task(), |_| {}).await;
    let engine = world.engine().await;
    let arrival = gate.arrival().await;
    let run = world.runs(schedule.id).await.remove(0);
    world.write("UPDATE run SET hard_deadline_at = 1 WHERE id = $1", [run.id.into()]).await;
    let mut rounds = engine.recovery_reports();
    let seen = rounds.borrow_and_update().0;
    let looked = rounds.wait_for(|(count, _)| *count > seen + 2);
    tokio::time::timeout(Duration::from_secs(60), looked).await.unwrap().unwrap();
    arrival.answer(200);
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.attempt), (run::State::Succeeded, 1));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
