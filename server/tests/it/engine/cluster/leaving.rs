use std::time::Duration;

use carillon::engine::cluster::Standing;
use entity::run;

use crate::{
    engine::{
        gate::Gate,
        world::{World, noop},
    },
    support::{TestDatabase, on_both},
};

on_both!(a_node_that_shuts_down_leaves_its_shards_and_leases_before_its_last_run_has_ended);

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
    assert_eq!(cluster.standing(&world.clock), Standing::Draining);
    for _ in 0..8 {
        let next = world.due_now(noop(), |_| {}).await;
        let run = world.settled_run(next.id).await;
        assert_ne!(run.node_id, Some(node));
    }
    let held = world.database.store.held_leases().await.unwrap();
    assert!(held.iter().all(|lease| lease.holder != node), "{held:?}");

    arrival.answer(200);
    ended.await.unwrap().unwrap();
    let run = world.runs(schedule.id).await.remove(0);
    assert_eq!((run.state, run.attempt, run.node_id), (run::State::Succeeded, 1, Some(node)));
    other.shutdown(Duration::from_secs(5)).await.unwrap();
}
