//! The reasons why a run waits.

use std::{sync::Arc, time::Duration};

use async_graphql::{Request, Variables};
use carillon::{
    api,
    commands::Commands,
    engine::Engine,
    model::Definition,
    target::{Executor, Policy},
};
use entity::{run, user::Role};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    gate::Gate,
    groups::group,
    world::{World, noop},
};
use crate::{
    api::desk::viewer,
    support::{TestDatabase, on_both},
};

on_both!(
    a_run_waits_for_its_group_and_names_who_holds_it,
    a_run_waits_for_a_node_with_its_tags,
    a_run_waits_for_a_share_or_for_any_place,
    a_run_waits_for_its_next_attempt,
);

const ASK: &str = "query ($id: UUID!) { run(id: $id) { state stuck
    waitsFor { reason text until group runs { id } } } }";

/// The reasons for which the run waits, as the node's API answers.
async fn ask(world: &World, engine: &Engine, run: Uuid) -> Value {
    let executor = Executor::new(Policy::default(), world.clock.clone()).unwrap();
    let cache = Arc::new(timetable::Cache::new(10));
    let (store, clock) = (world.database.store.clone(), world.clock.clone());
    let commands = Commands::new(store, clock, cache, Arc::new(executor), world.signals.clone());
    let commands = commands.with_cluster(engine.cluster());
    let introspection = carillon::config::Introspection::default();
    let health = carillon::config::Health::default();
    let schema = api::schema(commands, health, engine.cluster(), introspection);
    let request = Request::new(ASK).variables(Variables::from_json(json!({ "id": run })));
    let answer = schema.execute(request.data(viewer(Role::Viewer))).await;
    assert!(answer.errors.is_empty(), "{:#?}", answer.errors);
    answer.data.into_json().unwrap()["run"].take()
}

/// Polls the run until it waits for `reason`; returns that entry, which must be the only one.
async fn waits(world: &World, engine: &Engine, run: Uuid, reason: &str) -> Value {
    world
        .until(&format!("the run waits for {reason}"), || async {
            let mut said = ask(world, engine, run).await;
            let waits = said["waitsFor"].as_array_mut()?;
            let found = (waits.len() == 1).then(|| waits.remove(0))?;
            if reason != "NEXT_ATTEMPT" {
                assert_eq!(said["stuck"], found["text"]);
            }
            (found["reason"] == reason).then_some(found)
        })
        .await
}

async fn queued(world: &World, schedule: Uuid) -> Uuid {
    let run = world.until("its run is there", async || world.runs(schedule).await.pop()).await;
    run.id
}

async fn a_run_waits_for_its_group_and_names_who_holds_it(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let group = group(&world, 1).await;
    let first = world.due_now(gate.task(), |row| row.group_id = Some(group)).await;
    let engine = world.engine().await;
    let holder = gate.arrival().await;
    let second = world.due_now(gate.task(), |row| row.group_id = Some(group)).await;
    let second_run = queued(&world, second.id).await;
    let wait = waits(&world, &engine, second_run, "GROUP").await;
    assert_eq!(wait["text"], format!("group group-{group}: 1 of 1 runs are in progress"));
    assert_eq!(wait["group"], format!("group-{group}"));
    assert_eq!(wait["runs"], json!([{ "id": world.runs(first.id).await[0].id }]));
    holder.answer(200);
    let at_work = gate.arrival().await;
    let said = ask(&world, &engine, second_run).await;
    assert_eq!((&said["stuck"], &said["waitsFor"]), (&Value::Null, &json!([])));
    at_work.answer(200);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_run_waits_for_a_node_with_its_tags(database: TestDatabase) {
    let world = World::new(database).await;
    let engine = world.engine().await;
    let tagged = Definition { runs_on: vec!["gpu".to_owned()], ..Definition::single(noop()) };
    let schedule = world.due_now(tagged, |_| {}).await;
    let run = queued(&world, schedule.id).await;
    let wait = waits(&world, &engine, run, "NO_NODE").await;
    assert!(wait["text"].as_str().unwrap().contains("(gpu)"), "{wait}");
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_run_waits_for_a_share_or_for_any_place(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.capacity = 5;
    let (mut slow, mut other) = (Gate::open().await, Gate::open().await);
    let engine = world.engine().await;
    let mut held = Vec::new();
    for _ in 0..4 {
        world.due_now(slow.task(), |_| {}).await;
        held.push(slow.arrival().await);
    }
    let fifth = world.due_now(slow.task(), |_| {}).await;
    let run = queued(&world, fifth.id).await;
    let wait = waits(&world, &engine, run, "ORIGIN_SHARE").await;
    let origin = slow.task().target.origin().unwrap().within(world.namespace);
    let expected = format!("target origin {origin} holds 4 of 5 places of 'test', its share");
    assert_eq!(wait["text"], expected);
    world.due_now(other.task(), |_| {}).await;
    held.push(other.arrival().await);
    let none_left = world.due_now(noop(), |_| {}).await;
    let run = queued(&world, none_left.id).await;
    let wait = waits(&world, &engine, run, "NODES_FULL").await;
    assert_eq!(wait["text"], "all places of the only node that may take it are held");
    for arrival in held {
        arrival.answer(200);
    }
    slow.arrival().await.answer(200);
    for schedule in [fifth.id, none_left.id] {
        assert_eq!(world.settled_run(schedule).await.state, run::State::Succeeded);
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_run_waits_for_its_next_attempt(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let engine = world.engine().await;
    let mut again = gate.task();
    again.retry.max_attempts = 2;
    again.retry.initial_ms = 3_600_000;
    let schedule = world.due_now(again, |_| {}).await;
    gate.arrival().await.answer(500);
    let run = queued(&world, schedule.id).await;
    let wait = waits(&world, &engine, run, "NEXT_ATTEMPT").await;
    assert!(wait["until"].is_string(), "{wait}");
    assert_eq!(ask(&world, &engine, run).await["stuck"], Value::Null);
    engine.shutdown(Duration::from_secs(1)).await.unwrap();
}
