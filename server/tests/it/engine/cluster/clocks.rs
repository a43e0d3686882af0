use std::time::Duration;

use carillon::{clock::ManualClock, engine::cluster::Standing};
use chrono::TimeDelta;

use crate::{
    engine::world::{World, at, noop},
    support::{TestDatabase, on_both},
};

on_both!(
    a_node_whose_clock_is_stepped_claims_nothing_until_it_is_right,
    a_claim_by_a_clock_that_is_ahead_finds_nothing_due,
    a_node_whose_clock_is_wrong_does_not_start,
);

/// The world, the clock of the database that leases follow, and that of the node.
async fn two_clocks(database: TestDatabase) -> (World, ManualClock, ManualClock) {
    let start = at("2026-03-01T12:00:00Z");
    let (mut world, database_clock) = World::at(database, start).await;
    let node_clock = ManualClock::new(start);
    world.clock = node_clock.clock();
    (world, database_clock, node_clock)
}

async fn a_node_whose_clock_is_stepped_claims_nothing_until_it_is_right(database: TestDatabase) {
    let (world, database_clock, clock) = two_clocks(database).await;
    let schedule = world.schedule("30 * * * *", noop(), |_| {}).await;
    let engine = world.engine().await;
    let mut rounds = engine.planner_reports();
    let mut beats = engine.pulse_reports();
    rounds.wait_for(|(count, _)| *count > 0).await.unwrap();
    beats.wait_for(|(count, _)| *count > 0).await.unwrap();

    rounds.mark_unchanged();
    clock.set(at("2026-03-01T13:00:00Z"));
    tokio::time::timeout(Duration::from_secs(20), rounds.changed()).await.unwrap().unwrap();
    assert_eq!(rounds.borrow_and_update().1.claimed, 0);
    let standing = engine.cluster().standing(&world.clock);
    assert_eq!(standing, Standing::ClockOff(TimeDelta::hours(1)));

    // The beat that finds it right wakes the planner.
    let right = at("2026-03-01T12:00:10Z");
    database_clock.set(right);
    clock.set(right);
    let cluster = engine.cluster();
    while cluster.standing(&world.clock) != Standing::Ready {
        beats.mark_unchanged();
        for clock in [&database_clock, &clock] {
            clock.advance(world.settings.heartbeat_interval);
        }
        tokio::time::timeout(Duration::from_secs(20), beats.changed()).await.unwrap().unwrap();
    }
    assert!(world.ledger(schedule.id).await.is_empty());

    for clock in [&database_clock, &clock] {
        clock.set(at("2026-03-01T12:30:00Z"));
    }
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.scheduled_at.utc(), at("2026-03-01T12:30:00Z"));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// Whatever a node believes of its clock, the statement itself compares.
async fn a_claim_by_a_clock_that_is_ahead_finds_nothing_due(database: TestDatabase) {
    let (world, _database_clock, _clock) = two_clocks(database).await;
    world.schedule("30 * * * *", noop(), |_| {}).await;
    world.due_now(noop(), |_| {}).await;
    let store = &world.database.store;
    let due = async |now: &str| {
        let tx = store.begin().await.unwrap();
        let due = store.lock_due_schedules(&tx, at(now).into(), None, 10).await.unwrap();
        tx.rollback().await.unwrap();
        due.len()
    };
    assert_eq!(due("2026-03-01T12:00:05Z").await, 1);
    assert_eq!(due("2026-03-01T12:00:06Z").await, 0);
    assert_eq!(due("2026-03-01T13:00:00Z").await, 0);
}

async fn a_node_whose_clock_is_wrong_does_not_start(database: TestDatabase) {
    let (world, _database_clock, clock) = two_clocks(database).await;
    for (wrong, how) in [("12:00:06", "6 s ahead of"), ("11:00:00", "3600 s behind")] {
        clock.set(at(&format!("2026-03-01T{wrong}Z")));
        let error = world.try_engine().await.unwrap_err().to_string();
        assert!(error.contains(&format!("{how} the database's")), "{error}");
    }
    clock.set(at("2026-03-01T12:00:04Z"));
    world.engine().await.shutdown(Duration::from_secs(5)).await.unwrap();
}
