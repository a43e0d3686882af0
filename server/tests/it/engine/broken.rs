//! Rows that can no longer be read: each is handled separately, and none delays the others.

use std::time::Duration;

use carillon::store::reads::{
    health_causes::{self, HealthFigure},
    within::Within,
};
use entity::{
    fire::{Reason, Verdict},
    run, task_run,
};
use sea_orm::EntityTrait;
use serde_json::json;
use uuid::Uuid;

use super::{
    forge,
    world::{World, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_timing_that_cannot_be_read_pauses_its_schedule_alone,
    an_unreadable_definition_delays_no_other_schedule,
    a_queued_run_whose_definition_cannot_be_read_fails_alone,
    an_orphaned_run_whose_definition_cannot_be_read_fails_alone,
);

async fn a_timing_that_cannot_be_read_pauses_its_schedule_alone(database: TestDatabase) {
    let world = World::new(database).await;
    let broken = world.due_now(noop(), |row| row.zone = "Atlantis/Old_Town".to_owned()).await;
    let fine = world.due_now(noop(), |_| {}).await;
    let engine = world.engine().await;
    world.settled_run(fine.id).await;
    let row = entity::schedule::Entity::find_by_id(broken.id);
    let row = row.one(world.database.store.read()).await.unwrap().unwrap();
    assert!(!row.enabled);
    assert!(row.paused_reason.unwrap().contains("Atlantis/Old_Town"));
    assert_eq!(world.self_paused(Within::All).await.0, "1");
    let home = Within::One(world.namespace);
    let (value, issue) = world.self_paused(home.clone()).await;
    let expected = format!(
        "1 schedule whose timing can no longer be read is paused, among them {} of the namespace \
         test",
        broken.name
    );
    assert_eq!((&*value, issue), ("1", Some(expected)));
    let (store, now) = (&world.database.store, world.clock.now().into());
    let causes = health_causes::causes(store, HealthFigure::SelfPaused, &home, now, 10).await;
    let causes: Vec<_> = causes.unwrap().iter().map(|cause| cause.schedule_id).collect();
    assert_eq!(causes, [broken.id]);
    assert_eq!(world.self_paused(Within::One(Uuid::now_v7())).await, ("0".to_owned(), None));
    // A user who pauses the schedule again knows of it.
    let again = "UPDATE schedule SET paused_by = 'ada', paused_reason = 'known' WHERE id = $1";
    world.write(again, [broken.id.into()]).await;
    assert_eq!(world.self_paused(Within::All).await.1, None);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn break_definition(world: &World, workflow: Uuid) {
    let definition = json!({ "tasks": [{ "name": "from the future" }] });
    let sql = "UPDATE workflow_version SET definition = $1 WHERE workflow_id = $2";
    world.write(sql, [definition.into(), workflow.into()]).await;
}

async fn an_unreadable_definition_delays_no_other_schedule(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.lost_after = Duration::ZERO;
    let broken = world.due_now(noop(), |_| {}).await;
    break_definition(&world, broken.workflow_id).await;
    let fine = world.due_now(noop(), |row| row.next_scheduled_at = broken.next_scheduled_at).await;
    let engine = world.engine().await;
    world.settled_run(fine.id).await;
    // Recovery retries the unreadable fire as often as it may, because an older version of the
    // program could perhaps read it.
    let fire = world.decided(broken.id, 1).await.remove(0);
    assert_eq!((fire.verdict, fire.reason), (Verdict::Abandoned, Reason::AttemptsExhausted));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_queued_run_whose_definition_cannot_be_read_fails_alone(database: TestDatabase) {
    let world = World::new(database).await;
    let broken = forge::idle(&world, noop(), |_| {}).await;
    let fine = forge::idle(&world, noop(), |_| {}).await;
    for schedule in [&broken, &fine] {
        let run = forge::orphan(&world, schedule, |run| {
            (run.state, run.attempt) = (run::State::Retrying, 1);
        })
        .await;
        let ended = "UPDATE task_run SET state = 'lost' WHERE run_id = $1";
        world.write(ended, [run.id.into()]).await;
    }
    break_definition(&world, broken.workflow_id).await;
    let engine = world.engine().await;
    let run = world.settled_run(fine.id).await;
    assert_eq!((run.state, run.attempt), (run::State::Succeeded, 2));
    let run = world.settled_run(broken.id).await;
    assert_eq!((run.state, run.attempt), (run::State::Failed, 1));
    assert!(run.error.unwrap().contains("read version 1"));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn an_orphaned_run_whose_definition_cannot_be_read_fails_alone(database: TestDatabase) {
    let world = World::new(database).await;
    let broken = forge::idle(&world, noop(), |_| {}).await;
    let fine = forge::idle(&world, noop(), |_| {}).await;
    for schedule in [&broken, &fine] {
        forge::orphan(&world, schedule, |_| {}).await;
    }
    break_definition(&world, broken.workflow_id).await;
    let engine = world.engine().await;
    let run = world.settled_run(fine.id).await;
    assert_eq!((run.state, run.attempt), (run::State::Succeeded, 2));
    let run = world.settled_run(broken.id).await;
    assert_eq!(run.state, run::State::Failed);
    let states: Vec<_> = world.attempts(run.id).await.iter().map(|row| row.state).collect();
    assert_eq!(states, [task_run::State::Lost]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
