//! Outcomes of attempts that the database refuses to store.

use std::time::Duration;

use carillon::{engine::Engine, model::Task};
use entity::{run, task_run};

use super::world::{World, at, noop};
use crate::support::{TestDatabase, on_both};

on_both!(
    an_outcome_that_the_database_refuses_holds_up_no_other,
    an_attempt_that_waits_to_be_settled_is_not_timed_out,
    a_node_that_cannot_settle_stops_all_the_same,
);

/// Makes the database execute `sqlite` or `postgres` when an attempt that meets `condition` is
/// settled.
async fn disturb(world: &World, condition: &str, sqlite: &str, postgres: &str) {
    if !world.database.store.dialect().is_postgres() {
        let trigger = format!(
            "CREATE TRIGGER disturb BEFORE UPDATE ON task_run WHEN {condition} BEGIN {sqlite}; END"
        );
        return world.write(&trigger, []).await;
    }
    let function = format!(
        "CREATE FUNCTION disturb() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {postgres}; END'"
    );
    world.write(&function, []).await;
    let trigger = format!(
        "CREATE TRIGGER disturb BEFORE UPDATE ON task_run FOR EACH ROW WHEN ({condition}) \
         EXECUTE FUNCTION disturb()"
    );
    world.write(&trigger, []).await;
}

async fn an_outcome_that_the_database_refuses_holds_up_no_other(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    disturb(
        &world,
        "NEW.task = 'poison' AND NEW.output IS NOT NULL",
        "SELECT RAISE(ABORT, 'refused')",
        "RAISE ''refused'' USING ERRCODE = ''22P05''",
    )
    .await;
    let mut schedules = Vec::new();
    for number in 0..9 {
        let name = if number == 5 { "poison" } else { "main" };
        let task = Task { name: name.to_owned(), ..noop() };
        schedules.push(world.due_now(task, |_| {}).await.id);
    }
    let engine = world.engine().await;
    for (number, schedule) in schedules.into_iter().enumerate() {
        let run = world.settled_run(schedule).await;
        let attempt = world.attempts(run.id).await.remove(0);
        if number == 5 {
            assert_eq!((run.state, attempt.state), (run::State::Failed, task_run::State::Failed));
            assert!(run.error.unwrap().contains("the database refused"));
            assert_eq!(attempt.output, None);
        } else {
            assert_eq!(run.state, run::State::Succeeded);
        }
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// A run that has ended and waits to be settled: the database refuses its success, but would accept
/// another outcome.
async fn unsettled(world: &World, engine: &Engine) -> run::Model {
    disturb(
        world,
        "NEW.state = 'succeeded'",
        "SELECT json('{')",
        "RAISE ''disk full'' USING ERRCODE = ''53100''",
    )
    .await;
    let schedule = world.due_now(noop(), |_| {}).await;
    let run = world.until("the run has begun", async || world.runs(schedule.id).await.pop()).await;
    while engine.status().await.attempts > 0 {
        tokio::task::yield_now().await;
    }
    run
}

async fn recover(world: &World) {
    let on = if world.database.store.dialect().is_postgres() { " ON task_run" } else { "" };
    world.write(&format!("DROP TRIGGER disturb{on}"), []).await;
}

async fn an_attempt_that_waits_to_be_settled_is_not_timed_out(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let engine = world.engine().await;
    let run = unsettled(&world, &engine).await;
    let mut rounds = engine.recovery_reports();
    for _ in 0..3 {
        rounds.mark_unchanged();
        clock.advance(Duration::from_secs(3_600));
        let looked = tokio::time::timeout(Duration::from_secs(60), rounds.changed()).await;
        looked.expect("recovery looks").unwrap();
    }
    world.run_is(run.id, run::State::Running).await;

    recover(&world).await;
    clock.advance(Duration::from_secs(10));
    let run = world.run_is(run.id, run::State::Succeeded).await;
    assert_eq!(run.attempt, 1);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_node_that_cannot_settle_stops_all_the_same(database: TestDatabase) {
    let world = World::new(database).await;
    let engine = world.engine().await;
    let run = unsettled(&world, &engine).await;
    let grace = Duration::from_secs(1);
    let asked = world.clock.instant();
    engine.shutdown(grace).await.unwrap();
    let took = asked.elapsed();
    assert!(took < grace + Duration::from_secs(5), "{took:?}");

    recover(&world).await;
    let engine = world.engine().await;
    let run = world.run_is(run.id, run::State::Succeeded).await;
    assert_eq!((run.attempt, run.recovery_attempts), (2, 1));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
