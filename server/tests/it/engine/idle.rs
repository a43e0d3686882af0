//! An idle node writes nothing except heartbeats.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use super::world::{World, noop};
use crate::support::{TestDatabase, on_both};

on_both!(a_node_with_nothing_to_do_writes_its_heartbeat_and_its_terms);

/// Statements that change or lock rows, and for which other nodes may have to wait.
const WRITES: [&str; 5] = ["INSERT ", "UPDATE ", "DELETE ", "FOR SHARE", "SKIP LOCKED"];

async fn a_node_with_nothing_to_do_writes_its_heartbeat_and_its_terms(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.schedule("@every 365d", noop(), |_| {}).await;
    let texts = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = texts.clone();
    world.database.store = world.database.store.clone().with_observer(move |sql| {
        if WRITES.iter().any(|word| sql.contains(word)) {
            seen.lock().unwrap().insert(sql.to_owned());
        }
    });
    world.settings.heartbeat_interval = Duration::from_millis(100);
    // Checks that are seldom due run at the start, and not again during this test.
    let hour = Duration::from_secs(3_600);
    (world.settings.poll, world.settings.look_ahead) = (hour, hour);
    (world.settings.stats_interval, world.settings.lookout_interval) = (hour, hour);
    let engine = world.engine().await;
    let (mut rounds, mut beats) = (engine.recovery_reports(), engine.pulse_reports());
    rounds.wait_for(|(count, _)| *count > 2).await.unwrap();
    engine.planner_reports().wait_for(|(count, _)| *count > 0).await.unwrap();
    engine.stats_reports().wait_for(|(count, _)| *count > 0).await.unwrap();
    texts.lock().unwrap().clear();
    let (round, beat) = (rounds.borrow().0, beats.borrow().0);
    let quiet = async {
        rounds.wait_for(|(count, _)| *count > round + 5).await.unwrap();
        beats.wait_for(|(count, _)| *count > beat + 2).await.unwrap();
    };
    tokio::time::timeout(Duration::from_secs(60), quiet).await.unwrap();
    let texts: Vec<String> = texts.lock().unwrap().iter().cloned().collect();
    assert_eq!(texts.len(), 2, "{texts:#?}");
    assert!(texts[0].starts_with("UPDATE lease SET until_at"), "{texts:#?}");
    assert!(texts[1].starts_with("UPDATE node SET heartbeat_at"), "{texts:#?}");
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
