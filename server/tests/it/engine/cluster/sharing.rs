use std::{collections::HashSet, time::Duration};

use carillon::engine::Engine;
use entity::{
    fire::{self, Verdict},
    schedule::Overlap,
};
use uuid::Uuid;

use crate::{
    engine::world::{World, noop},
    support::{TestDatabase, on_both},
};

on_both!(
    what_a_killed_node_owned_is_claimed_by_others_before_it_is_declared_dead,
    a_node_that_is_alone_claims_every_shard,
);

async fn every_second(world: &World, count: usize) -> Vec<Uuid> {
    let mut schedules = Vec::new();
    for _ in 0..count {
        // On a slow machine, a run may last longer than a second or belong to a dead node; the next
        // one starts all the same.
        let schedule = world.schedule("* * * * * *", noop(), |row| row.overlap = Overlap::Allow);
        schedules.push(schedule.await.id);
    }
    schedules
}

/// Waits until each of the nodes knows all of them.
async fn know_each_other(nodes: &[&Engine]) {
    for node in nodes {
        let mut beats = node.pulse_reports();
        let cluster = node.cluster();
        let all = beats.wait_for(|_| cluster.seen().members.len() == nodes.len());
        tokio::time::timeout(Duration::from_secs(60), all).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn three_nodes_share_what_is_due_and_fire_each_instant_once() {
    let mut world = World::new(TestDatabase::postgres().await).await;
    world.settings.heartbeat_interval = Duration::from_millis(100);
    let nodes = [world.node("a").await, world.node("b").await, world.node("c").await];
    know_each_other(&nodes.each_ref()).await;
    let schedules = every_second(&world, 40).await;
    for schedule in &schedules {
        world.settled(*schedule, 3).await;
    }
    // Any node may claim late instants, so on a slow machine a single node may claim them all for a
    // while.
    world
        .until("each of them has claimed something", async || {
            let mut claimed_by = HashSet::new();
            for schedule in &schedules {
                let ledger = world.ledger(*schedule).await;
                claimed_by.extend(ledger.iter().filter_map(|fire| fire.claimed_by));
            }
            (claimed_by.len() == 3).then_some(())
        })
        .await;
    for node in nodes {
        node.shutdown(Duration::from_secs(5)).await.unwrap();
    }
    for schedule in schedules {
        let ledger = world.ledger(schedule).await;
        for pair in ledger.windows(2) {
            assert_eq!(pair[0].scheduled_at.0 + 1_000, pair[1].scheduled_at.0);
        }
        // The shutdown may come between a claim and its hand-off.
        let is_on_its_way =
            |fire: &fire::Model| matches!(fire.verdict, Verdict::Started | Verdict::Pending);
        assert!(ledger.iter().all(is_on_its_way), "{ledger:#?}");
        for run in world.runs(schedule).await {
            assert_eq!(world.attempts(run.id).await.len(), 1);
        }
    }
}

async fn what_a_killed_node_owned_is_claimed_by_others_before_it_is_declared_dead(
    database: TestDatabase,
) {
    let mut world = World::new(database).await;
    world.settings.heartbeat_interval = Duration::from_millis(100);
    let killed = world.node("killed").await;
    let other = world.node("other").await;
    know_each_other(&[&killed, &other]).await;
    let schedules = every_second(&world, 40).await;
    for schedule in &schedules {
        world.decided(*schedule, 1).await;
    }
    let node = other.status().await.node_id;
    killed.abandon();
    // A round that has begun ends before the shutdown does.
    let at = world.clock.now().timestamp_millis() + 6_000;
    for schedule in schedules {
        world
            .until("three instants after the death are claimed", async || {
                let ledger = world.ledger(schedule).await;
                let after = ledger.iter().filter(|fire| fire.scheduled_at.0 > at);
                (after.clone().count() >= 3).then(|| {
                    let by: HashSet<_> = after.filter_map(|fire| fire.claimed_by).collect();
                    assert_eq!(by, HashSet::from([node]));
                })
            })
            .await;
        let ledger = world.ledger(schedule).await;
        for pair in ledger.windows(2) {
            assert_eq!(pair[0].scheduled_at.0 + 1_000, pair[1].scheduled_at.0);
        }
    }
    other.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_node_that_is_alone_claims_every_shard(database: TestDatabase) {
    let world = World::new(database).await;
    let engine = world.engine().await;
    for shard in [0, 17, 255] {
        let schedule = world.due_now(noop(), |row| row.shard = shard).await;
        world.settled_run(schedule.id).await;
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
