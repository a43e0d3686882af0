//! PostgreSQL's own high availability, with a real primary and a real synchronous standby.
//!
//! - `mod`: a promotion while schedules fire
//! - `silence`: connections on which nothing arrives any more

mod silence;

use std::{collections::BTreeSet, time::Duration};

use carillon::store::{Options, Store};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{fire, run, schedule};
use uuid::Uuid;

use crate::{
    engine::world::{World, noop},
    support::{Replicas, TestDatabase},
};

/// Schedules that are due every second.
const SCHEDULES: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_is_refused_with_its_name() {
    let replicas = Replicas::start().await;
    let mut options = Options::new(replicas.url_of_standby());
    options.acquire_timeout = Duration::from_secs(1);
    let refused = Store::open(&options).await.unwrap_err().to_string();
    assert!(refused.contains("is a standby"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn schedules_go_on_when_the_standby_of_a_dead_primary_is_promoted() {
    let mut replicas = Replicas::start().await;
    let (world, schedules) = every_second(&replicas).await;
    let engine = world.engine().await;
    settled_since(&world, &schedules, world.clock.now()).await;
    let committed = fires(&world, &schedules).await;

    replicas.kill_primary();
    replicas.promote_standby().await;
    settled_since(&world, &schedules, world.clock.now()).await;
    assert!(fires(&world, &schedules).await.is_superset(&committed));

    // The nodes do not return to the first server when it comes back.
    replicas.revive_first_as_standby().await;
    settled_since(&world, &schedules, world.clock.now() + TimeDelta::seconds(1)).await;
    engine.shutdown(Duration::from_secs(10)).await.unwrap();
    for schedule in &schedules {
        has_no_gap(&world, *schedule).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_was_left_behind_is_left() {
    let replicas = Replicas::start().await;
    let (world, schedules) = every_second(&replicas).await;
    let engine = world.engine().await;
    settled_since(&world, &schedules, world.clock.now()).await;
    // The first server is alive and still believes that it is the primary. None of its commits is
    // acknowledged any more, because it waits for its standby.
    replicas.promote_standby().await;
    settled_since(&world, &schedules, world.clock.now()).await;
    engine.shutdown(Duration::from_secs(10)).await.unwrap();
    for schedule in &schedules {
        has_no_gap(&world, *schedule).await;
    }
}

async fn every_second(replicas: &Replicas) -> (World, Vec<Uuid>) {
    let mut world = World::new(TestDatabase::at(replicas.url()).await).await;
    // Recovery takes over the work of a lost answer after the expiry.
    world.settings.heartbeat_interval = Duration::from_millis(500);
    world.settings.heartbeat_expiry = Duration::from_secs(3);
    let mut schedules = Vec::new();
    for _ in 0..SCHEDULES {
        schedules.push(world.schedule("* * * * * *", noop(), each_runs).await.id);
    }
    (world, schedules)
}

/// Makes every fire of the schedule run, however late it is and whatever the state of the previous
/// run.
fn each_runs(schedule: &mut schedule::Model) {
    schedule.catch_up = schedule::CatchUp::All;
    schedule.overlap = schedule::Overlap::Allow;
}

async fn fires(world: &World, schedules: &[Uuid]) -> BTreeSet<Uuid> {
    let mut fires = BTreeSet::new();
    for schedule in schedules {
        fires.extend(world.ledger(*schedule).await.iter().map(|fire| fire.id));
    }
    fires
}

/// Waits until each schedule has a settled run for an instant after `since`, and no unsettled run
/// for an earlier one.
async fn settled_since(world: &World, schedules: &[Uuid], since: DateTime<Utc>) {
    for schedule in schedules {
        let look = async || {
            let runs = world.try_runs(*schedule).await?;
            let (after, before): (Vec<_>, Vec<_>) =
                runs.iter().partition(|run| run.scheduled_at.utc() > since);
            let is_settled = |run: &&run::Model| !run.state.is_live();
            (after.iter().any(is_settled) && before.iter().all(is_settled)).then_some(())
        };
        world.until_within(Duration::from_secs(60), "a run has settled", look).await;
    }
}

/// Checks that each second from the first to the last fire has a row, and that each row has ended.
async fn has_no_gap(world: &World, schedule: Uuid) {
    let ledger = world.ledger(schedule).await;
    let mut covered = BTreeSet::new();
    for fire in &ledger {
        let (from, to) = (fire.scheduled_at.0 / 1_000, fire.last_scheduled_at.0 / 1_000);
        let fresh = (from..=to).all(|second| covered.insert(second));
        assert!(fresh, "an instant has two rows: {fire:?}");
    }
    let (first, last) = (covered.first().unwrap(), covered.last().unwrap());
    assert_eq!(last - first + 1, i64::try_from(covered.len()).unwrap(), "an instant has no row");
    let runs = world.runs(schedule).await;
    // The intents of the last instants may have been released by the shutdown.
    for fire in ledger.iter().filter(|fire| fire.scheduled_at.0 / 1_000 < last - 2) {
        assert_eq!(fire.verdict, fire::Verdict::Started, "{fire:?}");
        let run = runs.iter().find(|run| Some(run.id) == fire.run_id).expect("a run for its fire");
        assert_eq!(run.state, run::State::Succeeded, "{run:?}");
    }
}
