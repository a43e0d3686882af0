use std::time::Duration;

use carillon::{engine::cluster::NodeReadiness, store::nodes::Drain};
use entity::run;

use crate::{
    engine::{
        gate::Gate,
        world::{World, noop},
    },
    support::{TestDatabase, on_both},
};

on_both!(
    a_node_that_shuts_down_leaves_its_shards_and_leases_before_its_last_run_has_ended,
    a_drained_node_ends_what_it_holds_and_takes_on_nothing_until_it_is_undrained,
);

async fn a_node_that_shuts_down_leaves_its_shards_and_leases_before_its_last_run_has_ended(
    database: TestDatabase,
) {
    let mut world = World::new(database).await;
    world.settings.heartbeat_interval = Duration::from_millis(100);
    let mut gate = Gate::open().await;
    let leaving = world.node("leaving").await;
    let schedule = world.due_now(gate.task(), |_| {}).await;
    let arrival = gate.arrival().await;
    let (node, cluster) = (leaving.status().await.node_id, leaving.cluster());
    let other = world.node("other").await;

    let ended = tokio::spawn(leaving.shutdown(Duration::from_secs(600)));
    let mut beats = other.pulse_reports();
    let seen = other.cluster();
    let alone = beats.wait_for(|_| {
        let fleet = seen.seen();
        fleet.members.len() == 2 && fleet.schedulers() == 1 && fleet.workers().count() == 1
    });
    tokio::time::timeout(Duration::from_secs(60), alone).await.unwrap().unwrap();
    assert_eq!(cluster.standing(&world.clock), NodeReadiness::Draining);
    for _ in 0..8 {
        let next = world.due_now(noop(), |_| {}).await;
        let run = world.settled_run(next.id).await;
        assert_ne!(run.node_id, Some(node));
    }
    let released = async {
        let held = async || world.database.store.held_leases().await.unwrap();
        while held().await.iter().any(|lease| lease.holder == node) {
            beats.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), released).await.unwrap();

    arrival.answer(200);
    ended.await.unwrap().unwrap();
    let run = world.runs(schedule.id).await.remove(0);
    assert_eq!((run.state, run.attempt, run.node_id), (run::State::Succeeded, 1, Some(node)));
    other.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_drained_node_ends_what_it_holds_and_takes_on_nothing_until_it_is_undrained(
    database: TestDatabase,
) {
    let mut world = World::new(database).await;
    world.settings.heartbeat_interval = Duration::from_millis(100);
    let mut gate = Gate::open().await;
    let drained = world.node("drained").await;
    let signals = world.signals.clone();
    let held = world.due_now(gate.task(), |_| {}).await;
    let arrival = gate.arrival().await;
    let (node, cluster) = (drained.status().await.node_id, drained.cluster());
    let other = world.node("other").await;

    let store = &world.database.store;
    let drain = Drain { by: "ada".to_owned(), reason: "a new disk".to_owned() };
    let set = async |drain: Option<&Drain>| {
        let tx = store.begin().await.unwrap();
        store.set_drain_if_alive(&tx, node, drain).await.unwrap().unwrap();
        store.commit(tx).await.unwrap();
    };
    let is = async |standing: NodeReadiness| {
        let mut beats = drained.pulse_reports();
        let stands = beats.wait_for(|_| cluster.standing(&world.clock) == standing);
        tokio::time::timeout(Duration::from_secs(60), stands).await.unwrap().unwrap();
    };
    set(Some(&drain)).await;
    is(NodeReadiness::Drained).await;
    let mut beats = other.pulse_reports();
    let alone = beats.wait_for(|_| {
        let fleet = other.cluster().seen();
        fleet.members.len() == 2 && fleet.schedulers() == 1 && fleet.workers().count() == 1
    });
    tokio::time::timeout(Duration::from_secs(60), alone).await.unwrap().unwrap();
    for _ in 0..8 {
        let next = world.due_now(noop(), |_| {}).await;
        assert_ne!(world.settled_run(next.id).await.node_id, Some(node));
    }
    arrival.answer(200);
    let run = world.settled_run(held.id).await;
    assert_eq!((run.state, run.attempt, run.node_id), (run::State::Succeeded, 1, Some(node)));

    set(None).await;
    is(NodeReadiness::Ready).await;
    other.shutdown(Duration::from_secs(5)).await.unwrap();
    // From here on, signals for the other node are not delivered.
    world.signals = signals;
    let next = world.due_now(noop(), |_| {}).await;
    assert_eq!(world.settled_run(next.id).await.node_id, Some(node));
    drained.shutdown(Duration::from_secs(5)).await.unwrap();
}
