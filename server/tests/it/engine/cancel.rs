//! Stopping runs.

use std::time::Duration;

use entity::{run, task_run};
use uuid::Uuid;

use super::{
    gate::Gate,
    world::{World, at},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_queued_run_is_cancelled_at_once,
    a_run_that_waits_for_its_next_attempt_is_cancelled_at_once,
    a_running_attempt_is_stopped,
    a_run_that_fails_before_its_cancellation_reaches_it_is_not_tried_again,
    an_order_to_cancel_outlives_the_hold_that_it_found,
);

async fn a_queued_run_is_cancelled_at_once(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.capacity = 1;
    let mut gate = Gate::open().await;
    world.due_now(gate.task(), |_| {}).await;
    let engine = world.engine().await;
    let in_the_only_place = gate.arrival().await;
    let waiting = world.due_now(gate.task(), |_| {}).await;
    let run = world.until("the run is queued", async || world.runs(waiting.id).await.pop()).await;
    assert_eq!(run.state, run::State::Queued);
    assert!(cancel(&world, run.id).await);
    let run = world.run_is(run.id, run::State::Cancelled).await;
    assert_eq!(
        (run.cancel_by.as_deref(), run.cancel_reason.as_deref()),
        (Some("ada"), Some("why"))
    );
    assert!(run.finished_at.is_some());

    in_the_only_place.answer(200);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(!gate.has_more());
    assert_eq!(world.attempts(run.id).await.len(), 0);
    assert!(!cancel(&world, run.id).await, "a settled run is not alive");
}

async fn a_run_that_waits_for_its_next_attempt_is_cancelled_at_once(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let mut task = gate.task();
    task.retry.max_attempts = 5;
    let schedule = world.due_now(task, |_| {}).await;
    let engine = world.engine().await;
    gate.arrival().await.answer(500);
    let run = world.until("the run is there", async || world.runs(schedule.id).await.pop()).await;
    world.run_is(run.id, run::State::Retrying).await;
    assert!(cancel(&world, run.id).await);
    world.run_is(run.id, run::State::Cancelled).await;
    clock.advance(Duration::from_secs(600));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(!gate.has_more());
    assert_eq!(world.attempts(run.id).await.len(), 1);
}

async fn a_running_attempt_is_stopped(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let mut task = gate.task();
    task.retry.max_attempts = 5;
    let schedule = world.due_now(task, |_| {}).await;
    let engine = world.engine().await;
    let _unanswered = gate.arrival().await;
    let run = world.runs(schedule.id).await.remove(0);
    assert!(cancel(&world, run.id).await);
    world.signals.wake_canceller();
    let run = world.run_is(run.id, run::State::Cancelled).await;
    assert!(run.finished_at.is_some());
    let attempts = world.attempts(run.id).await;
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].state, task_run::State::Cancelled);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The attempt fails by itself before its node learns of the cancellation.
async fn a_run_that_fails_before_its_cancellation_reaches_it_is_not_tried_again(
    database: TestDatabase,
) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let mut task = gate.task();
    task.retry.max_attempts = 5;
    let schedule = world.due_now(task, |_| {}).await;
    let engine = world.engine().await;
    let arrival = gate.arrival().await;
    let run = world.runs(schedule.id).await.remove(0);
    assert!(cancel(&world, run.id).await);
    arrival.answer(500);
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.attempt), (run::State::Cancelled, 1));
    assert!(run.finished_at.is_some());
    assert_eq!(world.attempts(run.id).await[0].state, task_run::State::Failed);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The cancellation has not reached the node when the node is declared dead.
async fn an_order_to_cancel_outlives_the_hold_that_it_found(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let schedule = world.due_now(gate.task(), |_| {}).await;
    let (dies, mut its) = world.by_hand().await;
    its.get_mut("planner").unwrap().once(clock.now()).await.unwrap();
    let arrival = gate.arrival().await;
    let run = world.runs(schedule.id).await.remove(0);
    assert!(cancel(&world, run.id).await);

    let sql = "UPDATE node SET state = 'dead' WHERE id = $1";
    world.write(sql, [dies.node_id().await.into()]).await;
    world.settings.node_name = "other".to_owned();
    let (_other, mut others) = world.by_hand().await;
    others.get_mut("recovery").unwrap().once(clock.now()).await.unwrap();
    others.get_mut("dispatcher").unwrap().once(clock.now()).await.unwrap();
    let run = world.run_is(run.id, run::State::Cancelled).await;
    assert_eq!((run.attempt, run.recovery_attempts), (1, 0));
    assert!(!gate.has_more(), "nobody takes it again");

    its.get_mut("canceller").unwrap().once(clock.now()).await.unwrap();
    arrival.hung_up().await;
    let attempts = world.attempts(run.id).await;
    let states: Vec<_> = attempts.iter().map(|row| row.state).collect();
    assert_eq!(states, [task_run::State::Lost]);
}

async fn cancel(world: &World, run: Uuid) -> bool {
    let store = &world.database.store;
    let tx = store.begin().await.unwrap();
    let now = world.clock.now().into();
    let cancelled = store.cancel_if_live(&tx, run, "ada", Some("why"), now).await.unwrap();
    store.commit(tx).await.unwrap();
    cancelled
}
