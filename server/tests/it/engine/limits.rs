//! Recovery gives up when its limits are reached, and the ledger says so.

use std::time::Duration;

use carillon::telemetry::{Telemetry, exposition};
use chrono::TimeDelta;
use entity::{
    fire::{self, Reason, Verdict},
    run, schedule, task_run,
};
use uuid::Uuid;

use super::{
    forge,
    world::{World, at, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_lost_intent_is_abandoned_at_the_limits,
    an_orphaned_run_is_abandoned_at_the_limits,
    an_orphaned_run_that_was_to_be_cancelled_is_cancelled,
    a_repeated_run_that_is_given_up_leaves_the_fire_as_it_was,
    runs_ended_by_recovery_count_as_ended_executions,
);

type ChangeSchedule = fn(&mut schedule::Model);

const NOW: &str = "2026-03-01T12:00:00Z";

fn paused(row: &mut schedule::Model) {
    row.enabled = false;
}

fn deleted(row: &mut schedule::Model) {
    row.deleted_at = Some(row.created_at);
}

fn edited(row: &mut schedule::Model) {
    (row.version, row.fires_version) = (2, 2);
}

fn as_it_is(_: &mut schedule::Model) {}

async fn a_lost_intent_is_abandoned_at_the_limits(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let long_ago = (at(NOW) - TimeDelta::hours(25)).into();
    type Change = Box<dyn Fn(&mut fire::Model)>;
    let same: fn() -> Change = || Box::new(|_| {});
    let cases: Vec<(ChangeSchedule, Change, Reason)> = vec![
        (paused, same(), Reason::Disabled),
        (deleted, same(), Reason::Deleted),
        (edited, same(), Reason::StaleVersion),
        (as_it_is, Box::new(|fire| fire.recovery_attempts = 3), Reason::AttemptsExhausted),
        (as_it_is, Box::new(move |fire| fire.claimed_at = long_ago), Reason::TooOld),
    ];
    let mut expected = Vec::new();
    for (change, change_fire, reason) in cases {
        let schedule = forge::idle(&world, noop(), change).await;
        forge::intent(&world, &schedule, change_fire).await;
        expected.push((schedule.id, reason));
    }
    // The third attempt of recovery is still permitted.
    let last_try = forge::idle(&world, noop(), |_| {}).await;
    forge::intent(&world, &last_try, |fire| fire.recovery_attempts = 2).await;

    let engine = world.engine().await;
    for (schedule, reason) in expected {
        let fire = world.decided(schedule, 1).await.remove(0);
        assert_eq!((fire.verdict, fire.reason), (Verdict::Abandoned, reason));
        assert!(world.runs(schedule).await.is_empty());
    }
    let run = world.settled_run(last_try.id).await;
    assert_eq!(run.state, run::State::Succeeded);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn an_orphaned_run_is_abandoned_at_the_limits(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let long_ago = (at(NOW) - TimeDelta::hours(25)).into();
    type Change = Box<dyn Fn(&mut run::Model)>;
    let same: fn() -> Change = || Box::new(|_| {});
    let cases: Vec<(ChangeSchedule, Change, Reason)> = vec![
        (paused, same(), Reason::Disabled),
        (deleted, same(), Reason::Deleted),
        (as_it_is, Box::new(|run| run.recovery_attempts = 3), Reason::AttemptsExhausted),
        (as_it_is, Box::new(move |run| run.created_at = long_ago), Reason::TooOld),
    ];
    let mut expected = Vec::new();
    for (change, change_run, reason) in cases {
        let schedule = forge::idle(&world, noop(), change).await;
        let run = forge::orphan(&world, &schedule, change_run).await;
        expected.push((schedule.id, run.id, reason));
    }
    let last_try = forge::idle(&world, noop(), |_| {}).await;
    forge::orphan(&world, &last_try, |run| run.recovery_attempts = 2).await;

    let engine = world.engine().await;
    for (schedule, id, reason) in expected {
        let run = world.run_is(id, run::State::Failed).await;
        assert!(run.error.unwrap().contains("died"));
        assert!(run.finished_at.is_some());
        let fire = world.ledger(schedule).await.remove(0);
        assert_eq!((fire.verdict, fire.reason), (Verdict::Abandoned, reason));
        assert!(fire.detail.unwrap().contains(&id.to_string()));
        let states: Vec<_> = world.attempts(id).await.iter().map(|row| row.state).collect();
        assert_eq!(states, [task_run::State::Lost]);
    }
    let run = world.settled_run(last_try.id).await;
    assert_eq!((run.state, run.attempt), (run::State::Succeeded, 2));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn runs_ended_by_recovery_count_as_ended_executions(database: TestDatabase) {
    let (mut world, _clock) = World::at(database, at(NOW)).await;
    let telemetry = Telemetry::unexported(world.clock.clone()).unwrap();
    world.metrics = telemetry.metrics().clone();
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let given_up = forge::orphan(&world, &schedule, |run| run.recovery_attempts = 3).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let cancel = |run: &mut run::Model| run.cancel_requested_at = Some(run.created_at);
    let cancelled = forge::orphan(&world, &schedule, cancel).await;

    let engine = world.engine().await;
    world.run_is(given_up.id, run::State::Failed).await;
    world.run_is(cancelled.id, run::State::Cancelled).await;
    // A report counts retries after their transaction has ended.
    let mut rounds = engine.recovery_reports();
    let told = rounds.wait_for(|(_, report)| report.abandoned == 1);
    tokio::time::timeout(Duration::from_secs(60), told).await.unwrap().unwrap();
    let told = exposition(telemetry.registry()).unwrap();
    for line in [
        "carillon_executions_total{state=\"failed\"} 1",
        "carillon_executions_total{state=\"cancelled\"} 1",
        "carillon_executions_total{state=\"succeeded\"} 0",
        "carillon_execution_duration_seconds_count{state=\"failed\"} 1",
        "carillon_failed_executions_rate 0.5",
    ] {
        assert!(told.contains(line), "{line} is not in:\n{told}");
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn an_orphaned_run_that_was_to_be_cancelled_is_cancelled(database: TestDatabase) {
    let world = World::new(database).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let run = forge::orphan(&world, &schedule, |run| {
        run.cancel_requested_at = Some(run.created_at);
    })
    .await;
    let engine = world.engine().await;
    let run = world.run_is(run.id, run::State::Cancelled).await;
    assert_eq!((run.attempt, run.recovery_attempts), (1, 0));
    assert_eq!(world.ledger(schedule.id).await[0].verdict, Verdict::Started);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_repeated_run_that_is_given_up_leaves_the_fire_as_it_was(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let run = forge::orphan(&world, &schedule, |run| {
        run.id = Uuid::now_v7();
        run.trigger = run::Trigger::Retry;
        run.retry_of = run.fire_id;
        run.recovery_attempts = 3;
    })
    .await;
    let engine = world.engine().await;
    world.run_is(run.id, run::State::Failed).await;
    let fire = world.ledger(schedule.id).await.remove(0);
    assert_eq!((fire.verdict, fire.reason), (Verdict::Started, Reason::OnTime));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
