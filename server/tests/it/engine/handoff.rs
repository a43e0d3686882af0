//! Changes between a claim and its hand-off: no run starts on outdated knowledge.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use carillon::store::{FaultPoint, Faults, StoreError};
use entity::{
    fire::{self, Reason, Verdict},
    run,
    schedule::{self, Overlap},
};
use futures::FutureExt;
use sea_orm::{DbErr, RuntimeErr};

use super::{
    forge,
    world::{World, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_schedule_that_changed_between_claim_and_handoff_does_not_run,
    two_planners_on_one_database_fire_each_instant_once,
    a_claim_whose_answer_was_lost_is_handed_over_at_the_next_round,
    a_fire_whose_run_the_database_refuses_holds_up_no_other,
);

/// A claim also writes later intents without an owner, which the planner hands over in time.
async fn a_schedule_that_changed_between_claim_and_handoff_does_not_run(database: TestDatabase) {
    let world = World::new(database).await;
    type Change = fn(&mut schedule::Model);
    let cases: [(Change, Reason); 4] = [
        (|row| (row.version, row.fires_version) = (3, 2), Reason::StaleVersion),
        (|row| row.enabled = false, Reason::Disabled),
        (|row| row.deleted_at = Some(row.created_at), Reason::Deleted),
        (|row| row.start_deadline_ms = Some(10), Reason::Deadline),
    ];
    let mut expected = Vec::new();
    for (change, reason) in cases {
        let schedule = forge::idle(&world, noop(), change).await;
        forge::intent(&world, &schedule, |fire| fire.claimed_by = None).await;
        expected.push((schedule.id, reason));
    }
    let as_it_was = forge::idle(&world, noop(), |_| {}).await;
    forge::intent(&world, &as_it_was, |fire| fire.claimed_by = None).await;

    let engine = world.engine().await;
    for (schedule, reason) in expected {
        let fire = world.decided(schedule, 1).await.remove(0);
        assert_eq!((fire.verdict, fire.reason), (Verdict::Skipped, reason));
        assert!(world.runs(schedule).await.is_empty());
    }
    world.settled_run(as_it_was.id).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn two_planners_on_one_database_fire_each_instant_once(database: TestDatabase) {
    let mut world = World::new(database).await;
    let mut schedules = Vec::new();
    for _ in 0..20 {
        // On a busy machine one run may outlast the next instant, which starts all the same.
        let allow = |row: &mut schedule::Model| row.overlap = Overlap::Allow;
        schedules.push(world.schedule("* * * * * *", noop(), allow).await.id);
    }
    let one = world.engine().await;
    world.settings.node_name = "other".to_owned();
    let other = world.engine().await;
    for schedule in &schedules {
        world.settled(*schedule, 3).await;
    }
    one.shutdown(Duration::from_secs(5)).await.unwrap();
    other.shutdown(Duration::from_secs(5)).await.unwrap();
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

/// Recovery does not touch a live node's claims for several minutes.
async fn a_claim_whose_answer_was_lost_is_handed_over_at_the_next_round(database: TestDatabase) {
    const HOUR: Duration = Duration::from_secs(3_600);
    let mut world = World::new(database).await;
    // No other service commits.
    world.settings.recovery_interval = HOUR;
    world.settings.heartbeat_interval = HOUR;
    world.settings.poll = HOUR;
    let sound = world.database.store.clone();
    let is_armed = Arc::new(AtomicBool::new(false));
    let armed = is_armed.clone();
    let edge = move |edge| {
        let fails = edge == FaultPoint::Committed && armed.swap(false, Ordering::SeqCst);
        let lost = DbErr::Conn(RuntimeErr::Internal("the answer was lost".to_owned()));
        ready(if fails { Err(StoreError::Database(lost)) } else { Ok(()) }).boxed()
    };
    world.database.store = sound.clone().with_faults(Faults::new(edge, || None));
    let engine = world.engine().await;
    engine.planner_reports().wait_for(|(count, _)| *count > 0).await.unwrap();
    world.database.store = sound;
    is_armed.store(true, Ordering::SeqCst);
    let schedule = world.due_now(noop(), |_| {}).await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.is_recovery), (run::State::Succeeded, false));
    assert!(!is_armed.load(Ordering::SeqCst));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_fire_whose_run_the_database_refuses_holds_up_no_other(database: TestDatabase) {
    const POISON: i16 = 77;
    let mut world = World::new(database).await;
    world.settings.lost_after = Duration::from_millis(1);
    world.refuse("INSERT ON run", &format!("NEW.priority = {POISON}")).await;
    let mut schedules = Vec::new();
    for number in 0..9 {
        let priority = if number == 5 { POISON } else { 0 };
        let schedule = forge::idle(&world, noop(), |row| row.priority = priority).await;
        forge::intent(&world, &schedule, |fire| fire.claimed_by = None).await;
        schedules.push(schedule.id);
    }
    let engine = world.engine().await;
    let poison = schedules.remove(5);
    for schedule in schedules {
        world.settled_run(schedule).await;
    }
    let fire = world.decided(poison, 1).await.remove(0);
    assert_eq!((fire.verdict, fire.reason), (Verdict::Abandoned, Reason::AttemptsExhausted));
    assert!(world.runs(poison).await.is_empty());
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
