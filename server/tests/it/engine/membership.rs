//! The lives of a node: how they begin and end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use carillon::{
    engine::cluster::NodeReadiness,
    store::{FaultPoint, Faults, Options, StoreError},
};
use entity::{node, run, task_run};
use futures::FutureExt;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use uuid::Uuid;

use super::{
    gate::Gate,
    world::{World, at},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_node_that_was_declared_dead_stops_what_it_held_and_begins_a_new_life,
    a_node_that_was_declared_dead_starts_nothing_before_its_new_life,
    a_node_that_slept_through_its_expiry_does_not_declare_itself_dead,
    a_node_that_shuts_down_leaves,
    a_node_whose_name_another_process_bears_stands_back_until_that_is_gone,
    a_node_whose_new_life_had_no_answer_is_in_nobodys_way,
    a_heartbeat_waits_for_nothing_else_that_its_node_writes,
);

async fn a_node_that_was_declared_dead_stops_what_it_held_and_begins_a_new_life(
    database: TestDatabase,
) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let schedule = world.due_now(gate.task(), |_| {}).await;
    let engine = world.engine().await;
    let first = gate.arrival().await;
    // The next heartbeat is due only after the first one has been sent.
    engine.pulse_reports().wait_for(|(count, _)| *count > 0).await.unwrap();
    let old = engine.status().await.node_id;
    let sql = "UPDATE node SET state = 'dead' WHERE id = $1";
    world.write(sql, [old.into()]).await;

    let mut pulses = engine.pulse_reports();
    while engine.status().await.node_id == old {
        pulses.mark_unchanged();
        clock.advance(world.settings.heartbeat_interval);
        // An advance just before the pause between two heartbeats is not part of it: another one
        // follows.
        let _ = tokio::time::timeout(Duration::from_secs(2), pulses.changed()).await;
    }
    // Recovery may have run before the node began its new life, so the test waits for one more
    // round.
    let mut rounds = engine.recovery_reports();
    while !gate.has_more() {
        rounds.mark_unchanged();
        clock.advance(world.settings.recovery_interval);
        let round = tokio::time::timeout(Duration::from_secs(60), rounds.changed());
        round.await.expect("recovery looks").unwrap();
    }
    let second = gate.arrival().await;
    assert_eq!(second.attempt(), 2);
    first.answer(500);
    second.answer(200);
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::Succeeded);
    let attempts = world.attempts(run.id).await;
    let states: Vec<_> = attempts.iter().map(|row| row.state).collect();
    assert_eq!(states, [task_run::State::Lost, task_run::State::Succeeded]);

    let node = engine.status().await.node_id;
    assert_ne!(node, old);
    let node = life(&world, node).await;
    assert_eq!((node.state, node.incarnation), (node::State::Alive, 2));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// If the node did start something, other nodes would take the work over at once, and it would run
/// twice.
async fn a_node_that_was_declared_dead_starts_nothing_before_its_new_life(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let engine = world.engine().await;
    engine.pulse_reports().wait_for(|(count, _)| *count > 0).await.unwrap();
    let old = engine.status().await.node_id;
    world.write("UPDATE node SET state = 'dead' WHERE id = $1", [old.into()]).await;
    let schedule = world.due_now(gate.task(), |_| {}).await;
    let handed_over = world
        .until("the fire is handed over", || async { world.runs(schedule.id).await.pop() })
        .await;
    // On PostgreSQL, a signal of another test may cause an early heartbeat, and with it the new
    // life.
    if handed_over.state == run::State::Queued {
        assert_eq!((handed_over.attempt, handed_over.node_id), (0, None));
    }

    clock.advance(world.settings.heartbeat_interval);
    let arrival = gate.arrival().await;
    assert_eq!(arrival.attempt(), 1);
    arrival.answer(200);
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.attempt), (run::State::Succeeded, 1));
    let attempts = world.attempts(run.id).await;
    assert_eq!(attempts.len(), 1);
    assert_ne!(attempts[0].node_id, old);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The machine was suspended, or its clock was stepped. Recovery may run before the first heartbeat
/// after that.
async fn a_node_that_slept_through_its_expiry_does_not_declare_itself_dead(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let engine = world.engine().await;
    let node = engine.status().await.node_id;
    let mut rounds = engine.recovery_reports();
    for _ in 0..20 {
        rounds.mark_unchanged();
        clock.advance(world.settings.heartbeat_expiry * 2);
        let round = tokio::time::timeout(Duration::from_secs(60), rounds.changed());
        round.await.expect("recovery looks").unwrap();
        assert_eq!(rounds.borrow().1.expired_nodes, 0);
    }
    assert_eq!(engine.status().await.node_id, node);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_node_that_shuts_down_leaves(database: TestDatabase) {
    let world = World::new(database).await;
    let engine = world.engine().await;
    let node = engine.status().await.node_id;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    let node = life(&world, node).await;
    assert_eq!(node.state, node::State::Left);
    assert!(node.ended_at.is_some());
}

async fn a_node_whose_name_another_process_bears_stands_back_until_that_is_gone(
    database: TestDatabase,
) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let first = world.engine().await;
    let mut beats = first.pulse_reports();
    beats.wait_for(|(count, _)| *count > 0).await.unwrap();
    // To the second node, the first one looks like an earlier life of the same process, which has
    // ended.
    let second = world.engine().await;
    clock.advance(world.settings.heartbeat_interval);
    let usurped = beats.wait_for(|(_, report)| report.is_usurped);
    tokio::time::timeout(Duration::from_secs(60), usurped).await.unwrap().unwrap();
    assert_eq!(first.cluster().standing(&world.clock), NodeReadiness::Usurped);

    // The killed node leaves no process behind that could declare it dead.
    second.abandon();
    let told = async {
        loop {
            clock.advance(world.settings.heartbeat_interval);
            beats.changed().await.unwrap();
            if beats.borrow_and_update().1.rejoined {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), told).await.unwrap();
    // After a step of the clock, a node takes its clock for wrong until its next heartbeat.
    let ready = async {
        while first.cluster().standing(&world.clock) != NodeReadiness::Ready {
            clock.advance(world.settings.heartbeat_interval);
            beats.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ready).await.unwrap();
    first.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The database fails over while the node begins a new life: the life is there, and the node does
/// not know it.
async fn a_node_whose_new_life_had_no_answer_is_in_nobodys_way(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let is_failing = Arc::new(AtomicBool::new(false));
    let sound = world.database.store.clone();
    let (there, fails) = (sound.clone(), is_failing.clone());
    let edge = move |edge| {
        let (there, fails) = (there.clone(), fails.clone());
        let answered = async move {
            if edge != FaultPoint::Committed || !fails.load(Ordering::SeqCst) {
                return Ok(());
            }
            let alive = node::Entity::find().filter(node::Column::State.eq(node::State::Alive));
            if alive.one(there.read()).await.unwrap().is_none() {
                return Ok(());
            }
            fails.store(false, Ordering::SeqCst);
            Err(StoreError::unanswered())
        };
        answered.boxed()
    };
    world.database.store = sound.clone().with_faults(Faults::new(edge, || None));
    let (node, mut pulse) = world.step("pulse").await;
    world.database.store = sound;
    let old = node.node_id().await;
    world.write("UPDATE node SET state = 'dead' WHERE id = $1", [old.into()]).await;
    is_failing.store(true, Ordering::SeqCst);
    pulse.once(clock.now()).await.unwrap_err();
    assert!(!is_failing.load(Ordering::SeqCst));
    assert_eq!(node.node_id().await, old);

    pulse.once(clock.now()).await.unwrap();
    assert_eq!(node.cluster().standing(&world.clock), NodeReadiness::Ready);
    let own = node.node_id().await;
    let alive = node::Entity::find().filter(node::Column::State.eq(node::State::Alive));
    let alive = alive.all(world.database.store.read()).await.unwrap();
    assert_eq!(alive.iter().map(|node| node.id).collect::<Vec<_>>(), [own]);
    assert_ne!(own, old);
}

async fn life(world: &World, node: Uuid) -> node::Model {
    node::Entity::find_by_id(node).one(world.database.store.read()).await.unwrap().unwrap()
}

/// On SQLite there is only one node, and a single writer that serves callers in order.
async fn a_heartbeat_waits_for_nothing_else_that_its_node_writes(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let store = &world.database.store;
    if !store.dialect().is_postgres() {
        println!("not tried: SQLite has one writer, which everything of its node shares");
        return;
    }
    let (node, mut pulse) = world.step("pulse").await;
    let mut written = Vec::new();
    for _ in 0..Options::new("").connections / 2 {
        written.push(store.begin().await.unwrap());
    }
    clock.pass(world.settings.heartbeat_interval);
    pulse.once(clock.now()).await.unwrap();
    let row = life(&world, node.node_id().await).await;
    assert_eq!(row.heartbeat_at.utc(), clock.now());
}
