//! Limits on the number of runs in progress, and the order in which waiting runs start.

use std::time::Duration;

use entity::{concurrency_group, run, schedule};
use sea_orm::{ActiveModelTrait, ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter};
use uuid::Uuid;

use super::{
    gate::Gate,
    world::{World, at, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    no_more_runs_of_a_group_are_at_work_than_it_allows,
    a_full_group_holds_up_no_other_run,
    two_nodes_keep_one_limit,
    a_group_continues_after_a_crash,
    a_run_whose_group_is_gone_has_no_limit,
    the_waiting_run_of_the_highest_priority_and_then_the_oldest_is_taken,
);

pub(super) async fn group(world: &World, max_runs: i32) -> Uuid {
    let id = Uuid::now_v7();
    let now = world.clock.now().into();
    let row = concurrency_group::Model {
        id,
        namespace_id: world.namespace,
        name: format!("group-{id}"),
        max_runs,
        version: 1,
        module: None,
        created_at: now,
        updated_at: now,
    };
    let tx = world.database.store.begin().await.unwrap();
    row.into_active_model().insert(&tx).await.unwrap();
    world.database.store.commit(tx).await.unwrap();
    id
}

pub(super) async fn running(world: &World, group: Uuid) -> usize {
    let query = run::Entity::find()
        .filter(run::Column::GroupId.eq(group))
        .filter(run::Column::State.eq(run::State::Running));
    query.all(world.database.store.read()).await.unwrap().len()
}

/// Waits until the only run of the schedule is in the queue.
async fn queued(world: &World, schedule: Uuid) -> Uuid {
    let run = world.until("the run is there", async || world.runs(schedule).await.pop()).await;
    assert_eq!(run.state, run::State::Queued);
    run.id
}

async fn no_more_runs_of_a_group_are_at_work_than_it_allows(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let group = group(&world, 2).await;
    for _ in 0..6 {
        world.due_now(gate.task(), |row| row.group_id = Some(group)).await;
    }
    let engine = world.engine().await;
    let mut at_work = vec![gate.arrival().await, gate.arrival().await];
    for left in (0..6_usize).rev() {
        assert!(running(&world, group).await <= 2);
        assert!(!gate.has_more());
        at_work.remove(0).answer(200);
        if left >= 2 {
            at_work.push(gate.arrival().await);
        }
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    let runs = run::Entity::find().all(world.database.store.read()).await.unwrap();
    assert!(runs.iter().all(|run| run.state == run::State::Succeeded), "{runs:#?}");
    assert_eq!(runs.len(), 6);
}

async fn a_full_group_holds_up_no_other_run(database: TestDatabase) {
    let (mut world, _clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.settings.capacity = 3;
    world.settings.batch = 3;
    let mut gate = Gate::open().await;
    let (full, other) = (group(&world, 1).await, group(&world, 1).await);
    for _ in 0..8 {
        world
            .due_now(gate.task(), |row| {
                row.group_id = Some(full);
                row.priority = 100;
            })
            .await;
    }
    let engine = world.engine().await;
    let in_the_way = gate.arrival().await;
    let free = world.due_now(noop(), |row| row.priority = -100).await;
    world.settled_run(free.id).await;
    let elsewhere = world.due_now(noop(), |row| row.group_id = Some(other)).await;
    world.settled_run(elsewhere.id).await;
    assert_eq!(running(&world, full).await, 1);
    in_the_way.answer(200);
    for _ in 1..8 {
        gate.arrival().await.answer(200);
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn two_nodes_keep_one_limit(database: TestDatabase) {
    let mut world = World::new(database).await;
    let mut gate = Gate::open().await;
    let group = group(&world, 3).await;
    for _ in 0..15 {
        world.due_now(gate.task(), |row| row.group_id = Some(group)).await;
    }
    let one = world.engine().await;
    world.settings.node_name = "other".to_owned();
    let other = world.engine().await;
    let mut at_work = Vec::new();
    for taken in 0..15 {
        at_work.push(gate.arrival().await);
        // After a run has settled, either of the two nodes may be woken, and either may start the
        // next run.
        assert!(running(&world, group).await <= 3);
        if taken >= 2 {
            at_work.remove(0).answer(200);
        }
    }
    for arrival in at_work {
        arrival.answer(200);
    }
    one.shutdown(Duration::from_secs(5)).await.unwrap();
    other.shutdown(Duration::from_secs(5)).await.unwrap();
    let runs = run::Entity::find().all(world.database.store.read()).await.unwrap();
    assert!(runs.iter().all(|run| run.state == run::State::Succeeded && run.attempt == 1));
}

async fn a_group_continues_after_a_crash(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let group = group(&world, 1).await;
    for _ in 0..2 {
        world.due_now(gate.task(), |row| row.group_id = Some(group)).await;
    }
    let engine = world.engine().await;
    let first = gate.arrival().await;
    engine.abandon();

    let engine = world.engine().await;
    for _ in 0..2 {
        let arrival = gate.arrival().await;
        assert!(running(&world, group).await <= 1);
        assert!(!gate.has_more());
        let attempt = if arrival.key == first.key { 2 } else { 1 };
        assert_eq!(arrival.attempt(), attempt);
        arrival.answer(200);
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_run_whose_group_is_gone_has_no_limit(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let nowhere = Uuid::from_u128(5);
    let schedule = world.due_now(noop(), |row| row.group_id = Some(nowhere)).await;
    let engine = world.engine().await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.group_id), (run::State::Succeeded, Some(nowhere)));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn the_waiting_run_of_the_highest_priority_and_then_the_oldest_is_taken(
    database: TestDatabase,
) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.settings.capacity = 1;
    let mut gate = Gate::open().await;
    world.due_now(gate.task(), |_| {}).await;
    let engine = world.engine().await;
    let mut at_work = gate.arrival().await;
    let mut expected: Vec<(i16, usize, schedule::Model)> = Vec::new();
    for (order, priority) in [0, 5, -5, 5, 0].into_iter().enumerate() {
        clock.advance(Duration::from_secs(1));
        let schedule = world.due_now(gate.task(), |row| row.priority = priority).await;
        let run = queued(&world, schedule.id).await;
        assert_eq!(world.runs(schedule.id).await[0].priority, priority, "{run}");
        expected.push((-priority, order, schedule));
    }
    expected.sort_by_key(|(priority, order, _)| (*priority, *order));
    for (_, _, schedule) in expected {
        at_work.answer(200);
        at_work = gate.arrival().await;
        assert!(at_work.key.starts_with(&schedule.id.to_string()), "{}", at_work.key);
    }
    at_work.answer(200);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
