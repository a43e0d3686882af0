//! A run that the same node takes again before its earlier attempt on the node has ended.

use std::time::Duration;

use entity::{run, task_run};

use super::{gate::Gate, world::World};
use crate::support::{TestDatabase, on_both};

on_both!(an_attempt_that_was_replaced_does_not_let_go_of_the_next_one);

/// This happens after a fail-over that lost acknowledged commits of the primary: the attempt and
/// the term have the same numbers as before.
async fn an_attempt_that_was_replaced_does_not_let_go_of_the_next_one(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.poll = Duration::from_millis(50);
    // No service compares its runs with the tables while the test changes them.
    world.settings.heartbeat_interval = Duration::from_secs(3_600);
    let mut gate = Gate::open().await;
    let schedule = world.due_now(gate.task(), |_| {}).await;
    let engine = world.engine().await;
    let hangs = gate.arrival().await;
    let run = world.runs(schedule.id).await.remove(0);
    let first = world.attempts(run.id).await.remove(0);

    world.write("DELETE FROM task_run WHERE run_id = $1", [run.id.into()]).await;
    let queued = "UPDATE run SET state = 'queued', attempt = 0, epoch = 0, node_id = NULL, \
        started_at = NULL, hard_deadline_at = NULL WHERE id = $1";
    world.write(queued, [run.id.into()]).await;
    let second = gate.arrival().await;
    let again = world.attempts(run.id).await.remove(0);
    assert_eq!((again.attempt, again.node_id), (first.attempt, first.node_id));

    // The earlier attempt is stopped, and its log lines are written before those of the second one.
    hangs.hung_up().await;
    assert_eq!(world.runs(schedule.id).await[0].state, run::State::Running);
    second.answer(200);
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.attempt), (run::State::Succeeded, 1));
    let states: Vec<_> = world.attempts(run.id).await.iter().map(|row| row.state).collect();
    assert_eq!(states, [task_run::State::Succeeded]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
