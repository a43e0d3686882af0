//! The shutdown of a node.

use std::time::Duration;

use entity::{run, task_run};

use super::{gate::Gate, world::World};
use crate::support::{TestDatabase, on_both};

on_both!(
    an_attempt_that_ends_within_the_grace_is_settled,
    an_attempt_that_does_not_end_in_time_is_released_to_the_next_life,
);

async fn an_attempt_that_ends_within_the_grace_is_settled(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let schedule = world.due_now(gate.task(), |_| {}).await;
    let engine = world.engine().await;
    let arrival = gate.arrival().await;
    let ended = tokio::spawn(engine.shutdown(Duration::from_secs(20)));
    arrival.answer(200);
    ended.await.unwrap().unwrap();
    let run = world.runs(schedule.id).await.remove(0);
    assert_eq!((run.state, run.attempt), (run::State::Succeeded, 1));
}

async fn an_attempt_that_does_not_end_in_time_is_released_to_the_next_life(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let schedule = world.due_now(gate.task(), |_| {}).await;
    let engine = world.engine().await;
    let _unanswered = gate.arrival().await;
    engine.shutdown(Duration::ZERO).await.unwrap();
    let run = world.runs(schedule.id).await.remove(0);
    assert_eq!((run.state, run.attempt, run.max_attempts), (run::State::Retrying, 1, 2));
    assert_eq!(world.attempts(run.id).await[0].state, task_run::State::Lost);

    let engine = world.engine().await;
    let second = gate.arrival().await;
    assert_eq!(second.attempt(), 2);
    second.answer(500);
    // The attempt that was released does not count. The failed one was the only attempt permitted.
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.recovery_attempts), (run::State::Failed, 0));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
