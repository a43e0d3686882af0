use std::time::Duration;

use carillon::{
    config::{self, Tags},
    engine::{Engine, maintenance::health},
    model::Definition,
    store::reads::health::HealthScope,
};
use entity::run;

use crate::{
    engine::{
        gate::Gate,
        world::{World, noop},
    },
    support::{TestDatabase, on_both},
};

on_both!(
    a_node_that_only_schedules_leaves_its_runs_to_one_that_works,
    a_run_waits_visibly_until_a_node_has_its_tags,
    a_run_that_asks_for_tags_holds_up_no_other,
    a_node_that_is_clearly_fuller_leaves_runs_to_others,
    a_node_that_only_answers_says_that_nobody_schedules,
);

fn asks(tags: &[&str]) -> Definition {
    let runs_on = tags.iter().map(|tag| (*tag).to_owned()).collect();
    Definition { runs_on, ..Definition::single(noop()) }
}

async fn issues(world: &World, engine: &Engine) -> Vec<String> {
    let (store, limits) = (&world.database.store, config::Health::default());
    let (cluster, scope) = (engine.cluster(), HealthScope::default());
    let checks = health::examine(store, &world.clock, &cluster, &scope, &limits).await.unwrap();
    checks.into_iter().filter_map(|check| check.issue).collect()
}

async fn a_node_that_only_schedules_leaves_its_runs_to_one_that_works(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.poll = Duration::from_millis(50);
    world.settings.roles = "scheduler".parse().unwrap();
    let scheduler = world.node("scheduler").await;
    let schedule = world.due_now(noop(), |_| {}).await;
    world
        .until("it is handed over", async || {
            let run = world.runs(schedule.id).await.pop()?;
            (run.state == run::State::Queued).then_some(())
        })
        .await;
    assert!(issues(&world, &scheduler).await[0].contains("'worker'"));

    world.settings.roles = "worker".parse().unwrap();
    let worker = world.node("worker").await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.node_id, Some(worker.status().await.node_id));
    assert!(issues(&world, &scheduler).await.is_empty());
    assert_eq!(worker.status().await.planner.0, 0, "it never claims");
    assert_eq!(scheduler.status().await.dispatcher.0, 0, "it never takes");
    scheduler.shutdown(Duration::from_secs(5)).await.unwrap();
    worker.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_run_waits_visibly_until_a_node_has_its_tags(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.poll = Duration::from_millis(50);
    let plain = world.node("plain").await;
    let schedule = world.due_now(asks(&["gpu", "region=eu"]), |_| {}).await;
    world.until("it is handed over", async || world.runs(schedule.id).await.pop()).await;
    let issues_now = issues(&world, &plain).await;
    assert!(issues_now[0].contains("(gpu and region=eu)"), "{issues_now:?}");
    // The dispatcher has considered the run, and left it in the queue.
    let other = world.due_now(noop(), |_| {}).await;
    world.settled_run(other.id).await;
    assert_eq!(world.runs(schedule.id).await[0].state, run::State::Queued);

    world.settings.tags = Tags::new(vec!["region=eu".to_owned(), "gpu".to_owned()]);
    let tagged = world.node("tagged").await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.node_id, Some(tagged.status().await.node_id));
    assert!(issues(&world, &plain).await.is_empty());
    plain.shutdown(Duration::from_secs(5)).await.unwrap();
    tagged.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_run_that_asks_for_tags_holds_up_no_other(database: TestDatabase) {
    let mut world = World::new(database).await;
    (world.settings.capacity, world.settings.poll) = (1, Duration::from_millis(50));
    let engine = world.engine().await;
    let waits = world.due_now(asks(&["gpu"]), |row| row.priority = 10).await;
    for _ in 0..5 {
        let schedule = world.due_now(noop(), |_| {}).await;
        world.settled_run(schedule.id).await;
    }
    assert_eq!(world.runs(waits.id).await[0].attempt, 0);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_node_that_is_clearly_fuller_leaves_runs_to_others(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.heartbeat_interval = Duration::from_millis(100);
    world.settings.poll = Duration::from_millis(50);
    world.settings.capacity = 4;
    // Long enough for the other node to act in time, however slow the machine is.
    world.settings.second_owner_after = Duration::from_secs(60);
    let mut gate = Gate::open().await;
    world.settings.roles = "scheduler,worker".parse().unwrap();
    let full = world.node("full").await;
    let held = [(); 2].map(|()| gate.task());
    let mut arrivals = Vec::new();
    for task in held {
        world.due_now(task, |_| {}).await;
        arrivals.push(gate.arrival().await);
    }
    let signals = world.signals.clone();
    world.settings.roles = "worker".parse().unwrap();
    let empty = world.node("empty").await;
    // Creating the run wakes the node that schedules.
    world.signals = signals;
    let id = full.status().await.node_id;
    let cluster = full.cluster();
    let mut beats = full.pulse_reports();
    let knows =
        beats.wait_for(|_| !cluster.seen().emptier_than(id, cluster.suspect_after()).is_empty());
    tokio::time::timeout(Duration::from_secs(60), knows).await.unwrap().unwrap();
    let schedule = world.due_now(noop(), |_| {}).await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.node_id, Some(empty.status().await.node_id));
    for arrival in arrivals {
        arrival.answer(200);
    }
    full.shutdown(Duration::from_secs(5)).await.unwrap();
    empty.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_node_that_only_answers_says_that_nobody_schedules(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.roles = "api".parse().unwrap();
    let engine = world.engine().await;
    let issues = issues(&world, &engine).await;
    assert!(issues[0].starts_with("no node schedules"), "{issues:?}");
    assert!(issues[1].starts_with("no node takes runs"), "{issues:?}");
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
