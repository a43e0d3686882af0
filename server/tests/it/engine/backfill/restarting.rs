use std::time::Duration;

use carillon::commands::RequestedFires;
use chrono::TimeDelta;
use entity::{
    backfill::{Mode, State},
    backfill_fire,
    fire::Reason,
    run,
};
use uuid::Uuid;

use super::{
    super::{gate::Gate, world::World},
    ended, fires, order, usual,
};
use crate::support::{TestDatabase, on_both};

on_both!(a_kill_between_any_two_steps_loses_nothing_and_doubles_nothing);

/// The engine is killed whenever a first attempt has arrived at the target, and whenever a later
/// attempt was answered: either before the backfill has read the result, or right after that.
async fn a_kill_between_any_two_steps_loses_nothing_and_doubles_nothing(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.recovery_attempts = 100;
    let mut gate = Gate::open().await;
    let schedule = world.schedule("0 * * * *", gate.task(), |row| row.enabled = false).await;
    let (to, mode) = (world.clock.now(), Mode::Missing);
    let wanted =
        RequestedFires { schedule_id: schedule.id, from: to - TimeDelta::hours(5), to, mode };
    let mut manner = usual();
    manner.concurrency = 2;
    let id = order(&world, wanted, manner).await;

    let mut engine = world.engine().await;
    // Requests whose sender was killed: they are kept open, and never answered.
    let mut unanswered = Vec::new();
    loop {
        let arrival = tokio::select! {
            arrival = gate.arrival() => arrival,
            _ = ended(&world, id) => break,
        };
        let run: Uuid = arrival.body["run_id"].as_str().unwrap().parse().unwrap();
        let row = world.runs(schedule.id).await.into_iter().find(|row| row.id == run).unwrap();
        let sender = engine.status().await.node_id;
        if row.node_id != Some(sender) || i64::from(row.attempt) != arrival.attempt() {
            unanswered.push(arrival);
            continue;
        }
        if arrival.attempt() > 1 {
            arrival.answer(200);
            world.run_is(run, run::State::Succeeded).await;
        } else {
            unanswered.push(arrival);
        }
        engine.abandon();
        engine = world.engine().await;
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();

    assert_eq!(ended(&world, id).await.state, State::Completed);
    let (ledger, runs) = (world.ledger(schedule.id).await, world.runs(schedule.id).await);
    let fires = fires(&world, id).await;
    assert_eq!((ledger.len(), runs.len(), fires.len()), (5, 5, 5));
    for ((fire, run), row) in fires.iter().zip(&runs).zip(&ledger) {
        assert_eq!(fire.state, backfill_fire::State::Succeeded);
        assert_eq!((fire.run_id, fire.scheduled_at), (Some(run.id), run.scheduled_at));
        assert_eq!((row.id, row.reason), (run.id, Reason::Backfilled));
        assert_eq!(run.state, run::State::Succeeded);
        let attempts = world.attempts(run.id).await;
        assert!(attempts.len() > 1, "each was killed once");
        let numbers: Vec<i32> = attempts.iter().map(|attempt| attempt.attempt).collect();
        assert_eq!(numbers, (1..=run.attempt).collect::<Vec<_>>());
    }
}
