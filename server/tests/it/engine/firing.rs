//! From a due instant to a settled run.

use entity::{
    fire::{self, Verdict},
    run,
    schedule::{self, Overlap},
    task_run,
};

use super::world::{World, at, noop};
use crate::support::{TestDatabase, on_both};

on_both!(
    an_every_second_schedule_fires_each_second_and_each_run_settles,
    a_start_with_many_schedules_due_claims_each_once,
);

async fn an_every_second_schedule_fires_each_second_and_each_run_settles(database: TestDatabase) {
    let world = World::new(database).await;
    // On a busy machine one run may outlast the next instant.
    let allow = |row: &mut schedule::Model| row.overlap = Overlap::Allow;
    let schedule = world.schedule("* * * * * *", noop(), allow).await;
    let engine = world.engine().await;
    let runs = world.settled(schedule.id, 3).await;
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();

    let ledger = world.ledger(schedule.id).await;
    for pair in ledger.windows(2) {
        assert_eq!(pair[1].scheduled_at.0 - pair[0].scheduled_at.0, 1_000);
    }
    // A stop may cut a round short between a claim and its hand-off.
    let is_on_its_way =
        |fire: &fire::Model| matches!(fire.verdict, Verdict::Started | Verdict::Pending);
    assert!(ledger.iter().all(is_on_its_way), "{ledger:#?}");
    for run in &runs {
        assert_eq!(run.state, run::State::Succeeded);
        assert_eq!(run.fire_id, Some(run.id));
        let expected = format!("{}-{}", schedule.id, run.scheduled_at.utc().timestamp());
        assert_eq!(run.idempotency_key, expected);
        let attempts = world.attempts(run.id).await;
        assert_eq!(attempts.len(), 1);
        assert_eq!(attempts[0].state, task_run::State::Succeeded);
    }
}

async fn a_start_with_many_schedules_due_claims_each_once(database: TestDatabase) {
    let (mut world, _clock) = World::at(database, at("2026-03-01T12:00:01Z")).await;
    world.settings.batch = 7;
    world.settings.capacity = 10;
    let mut schedules = Vec::new();
    for _ in 0..50 {
        let due = Some(at("2026-03-01T12:00:00Z").into());
        let row = world.schedule("0 12 * * *", noop(), |row| row.next_scheduled_at = due).await;
        schedules.push(row.id);
    }
    let engine = world.engine().await;
    for schedule in schedules {
        let runs = world.settled(schedule, 1).await;
        assert_eq!(runs.len(), 1);
        let ledger = world.ledger(schedule).await;
        assert_eq!(ledger.len(), 1);
        assert_eq!(ledger[0].run_id, Some(runs[0].id));
        assert_eq!(ledger[0].reason, fire::Reason::OnTime);
    }
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}
