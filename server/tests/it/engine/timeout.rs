//! Attempts that take too long.

use std::time::Duration;

use carillon::target::{CommandTarget, Target};
use entity::{run, task_run};

use super::{
    forge,
    gate::Gate,
    world::{World, at, noop, task},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    an_attempt_over_its_time_limit_is_stopped_and_timed_out,
    a_timed_out_attempt_is_followed_by_another_if_the_policy_says_so,
    an_attempt_that_its_node_fails_to_end_is_ended_by_recovery,
    a_step_of_the_databases_clock_times_out_nothing_on_another_node,
    a_node_ends_its_own_attempt_that_has_outlived_every_limit,
    a_node_does_not_time_out_its_own_attempt_by_the_wall_clock,
);

async fn an_attempt_over_its_time_limit_is_stopped_and_timed_out(database: TestDatabase) {
    let world = World::new(database).await;
    // The receiver never answers, whether or not the request reaches it in time.
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

/// The other node is alive, but its attempt makes no progress, and neither does the code that
/// should end the attempt there.
async fn an_attempt_that_its_node_fails_to_end_is_ended_by_recovery(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let limit = Duration::from_secs(60 + 1) + world.settings.heartbeat_expiry;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let other = forge::node(&world).await;
    let run = forge::orphan(&world, &schedule, |run| {
        run.node_id = Some(other);
        run.hard_deadline_at = Some(run.created_at);
        run.max_attempts = 2;
    })
    .await;
    let (_node, mut recovery) = world.step("recovery").await;
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);
    let moment = Duration::from_millis(1);
    forge::while_it_lives(&world, &clock, other, limit - moment, &mut recovery).await;
    clock.pass(moment);
    let found = recovery.once(clock.now()).await.unwrap().unwrap();
    assert!(found.contains("orphans: 0, overruns: 1,"), "{found}");
    let run = world.run_is(run.id, run::State::Retrying).await;
    assert!(!run.is_recovery);
    let states: Vec<_> = world.attempts(run.id).await.iter().map(|row| row.state).collect();
    assert_eq!(states, [task_run::State::TimedOut]);
}

/// This happens after a fail-over to a server with another clock: every attempt looks late.
async fn a_step_of_the_databases_clock_times_out_nothing_on_another_node(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let limit = Duration::from_secs(60 + 1) + world.settings.heartbeat_expiry;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let other = forge::node(&world).await;
    let run = forge::orphan(&world, &schedule, |run| {
        run.node_id = Some(other);
        run.hard_deadline_at = Some((clock.now() + limit).into());
    })
    .await;
    let (_node, mut recovery) = world.step("recovery").await;
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);
    for _ in 0..3 {
        clock.advance(Duration::from_secs(24 * 3_600));
        let most = limit / 4;
        forge::while_it_lives(&world, &clock, other, most, &mut recovery).await;
    }
    // The attempt has used three quarters of its time limit.
    assert_eq!(world.runs(schedule.id).await[0].state, run::State::Running);
    assert_eq!(world.attempts(run.id).await[0].state, task_run::State::Running);
}

/// The attempt's task has ended, but nothing writes its output.
async fn a_node_ends_its_own_attempt_that_has_outlived_every_limit(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let limit = Duration::from_secs(60 + 1) + world.settings.heartbeat_expiry;
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // The lines are too many for the attempt's settlement, so the attempt waits for the service
    // that writes lines, which does not run here.
    let script = format!("seq 9999; echo done > {}", fifo.display());
    let command = CommandTarget { script: Some(script), ..CommandTarget::default() };
    let schedule = world.due_now(task(Target::Command(command)), |_| {}).await;
    let (node, mut steps) = world.by_hand().await;
    steps.get_mut("planner").unwrap().once(clock.now()).await.unwrap();
    assert_eq!(tokio::fs::read_to_string(&fifo).await.unwrap(), "done\n");

    let recovery = steps.get_mut("recovery").unwrap();
    // How long the attempt has been running is not measured by these clocks.
    clock.advance(limit * 9);
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);
    clock.pass(limit);
    let found = recovery.once(clock.now()).await.unwrap().unwrap();
    assert!(found.contains("overruns: 1,"), "{found}");
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::TimedOut);
    assert_eq!(world.attempts(run.id).await[0].state, task_run::State::TimedOut);
    // No node holds the run any more, although the attempt has not ended.
    assert_eq!(node.attempts(), 1);
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);
}

/// This happens after a step of the clock: the deadline is past, but the task's time limit has not
/// been used up.
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
