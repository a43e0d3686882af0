//! What a dead process leaves behind is brought to an end by the living.

use std::{collections::HashSet, time::Duration};

use carillon::store::{
    holds::{Hold, Settlement},
    leases::Term,
};
use chrono::TimeDelta;
use entity::{
    fire::{Reason, Verdict},
    run, task_run,
};
use serde_json::json;
use uuid::Uuid;

use super::{
    forge,
    gate::Gate,
    world::{World, at, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_run_of_a_killed_node_is_taken_over_by_its_next_life,
    an_intent_whose_owner_is_dead_is_handed_over,
    an_old_intent_is_handed_over_although_its_owner_lives,
    a_run_that_its_own_node_does_not_know_is_taken_over,
    a_node_disowns_what_it_does_not_know_while_another_does_recovery,
    a_run_that_is_alive_is_never_fired_again,
    a_settlement_by_a_stale_hold_changes_nothing,
);

async fn a_run_of_a_killed_node_is_taken_over_by_its_next_life(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let schedule = world.due_now(gate.task(), |row| row.context = json!({ "customer": 42 })).await;
    let engine = world.engine().await;
    let first = gate.arrival().await;
    let killed = engine.status().await.node_id;
    engine.abandon();

    let engine = world.engine().await;
    let second = gate.arrival().await;
    assert_eq!((first.attempt(), second.attempt()), (1, 2));
    assert_eq!(first.key, second.key);
    assert_eq!(first.body["context"], json!({ "customer": 42 }));
    let run = world.runs(schedule.id).await.remove(0);
    let context = second.body["context"].clone();
    assert_eq!(context["customer"], 42);
    assert_eq!(context["is_recovery"], true);
    assert_eq!(context["execution_id"], json!(run.id));
    assert_eq!(at(context["original_scheduled_time"].as_str().unwrap()), run.scheduled_at.utc());
    let tried = at(context["recovery_attempt_time"].as_str().unwrap());
    assert!(tried >= run.scheduled_at.utc() && tried <= world.clock.now());

    // The killed node comes back from a long sleep, too late.
    first.answer(500);
    second.answer(200);
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.attempt, run.is_recovery), (run::State::Succeeded, 2, true));
    assert_eq!((run.recovery_attempts, run.context), (1, context));
    let attempts = world.attempts(run.id).await;
    let states: Vec<_> = attempts.iter().map(|row| row.state).collect();
    assert_eq!(states, [task_run::State::Lost, task_run::State::Succeeded]);
    assert_eq!(attempts[0].node_id, killed);
    assert_ne!(attempts[1].node_id, killed);
    let ledger = world.ledger(schedule.id).await;
    assert_eq!((ledger.len(), ledger[0].verdict), (1, Verdict::Started));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn an_intent_whose_owner_is_dead_is_handed_over(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let schedule = forge::idle(&world, gate.task(), |_| {}).await;
    let intent = forge::intent(&world, &schedule, |_| {}).await;
    let engine = world.engine().await;
    let arrival = gate.arrival().await;
    assert_eq!(arrival.attempt(), 1);
    assert_eq!(arrival.body["context"]["is_recovery"], true);
    assert_eq!(arrival.body["context"]["execution_id"], json!(intent.id));
    arrival.answer(200);
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.id, run.is_recovery), (intent.id, true));
    let fire = world.ledger(schedule.id).await.remove(0);
    assert_eq!((fire.verdict, fire.reason), (Verdict::Started, Reason::Recovered));
    assert_eq!((fire.run_id, fire.recovery_attempts), (Some(run.id), 1));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn an_old_intent_is_handed_over_although_its_owner_lives(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let other = forge::node(&world).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let young = forge::intent(&world, &schedule, |fire| fire.claimed_by = Some(other)).await;
    let old = forge::intent(&world, &schedule, |fire| {
        fire.claimed_by = Some(other);
        fire.scheduled_at = (world.clock.now() - TimeDelta::seconds(301)).into();
        fire.claimed_at = fire.scheduled_at;
    })
    .await;
    let engine = world.engine().await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.id, old.id);
    let ledger = world.ledger(schedule.id).await;
    let young = ledger.iter().find(|fire| fire.id == young.id).unwrap();
    assert_eq!((young.verdict, young.claimed_by), (Verdict::Pending, Some(other)));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// A commit whose answer was lost: the tables say that the node works on it, the node does not.
async fn a_run_that_its_own_node_does_not_know_is_taken_over(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.heartbeat_expiry = Duration::from_millis(100);
    let mut gate = Gate::open().await;
    let schedule = forge::idle(&world, gate.task(), |_| {}).await;
    let engine = world.engine().await;
    let node = engine.status().await.node_id;
    let run = forge::orphan(&world, &schedule, |run| run.node_id = Some(node)).await;
    let known = world.due_now(gate.task(), |_| {}).await;
    for _ in 0..2 {
        let arrival = gate.arrival().await;
        let attempt = if arrival.body["run_id"] == json!(run.id) { 2 } else { 1 };
        assert_eq!(arrival.attempt(), attempt);
        arrival.answer(200);
    }
    let run = world.run_is(run.id, run::State::Succeeded).await;
    assert_eq!((run.attempt, run.is_recovery), (2, true));
    let states: Vec<_> = world.attempts(run.id).await.iter().map(|row| row.state).collect();
    assert_eq!(states, [task_run::State::Lost, task_run::State::Succeeded]);
    assert_eq!(world.settled_run(known.id).await.attempt, 1);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_node_disowns_what_it_does_not_know_while_another_does_recovery(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.heartbeat_expiry = Duration::from_millis(100);
    let other = forge::node(&world).await;
    let lease = world
        .database
        .store
        .hold_lease_if_free("recovery", other, Duration::from_secs(3_600))
        .await;
    assert!(matches!(lease, Ok(Term::Held(_))), "{lease:?}");
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let engine = world.engine().await;
    let node = engine.status().await.node_id;
    let run = forge::orphan(&world, &schedule, |run| run.node_id = Some(node)).await;
    world
        .until("the run is nobody's", async || {
            let run = world.runs(schedule.id).await.remove(0);
            (run.node_id == Some(Uuid::nil())).then_some(())
        })
        .await;
    assert_eq!(world.run_is(run.id, run::State::Running).await.attempt, 1);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_run_that_is_alive_is_never_fired_again(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let schedule = world.due_now(gate.task(), |_| {}).await;
    let engine = world.engine().await;
    let arrival = gate.arrival().await;
    let mut rounds = engine.recovery_reports();
    // Far beyond the age up to which recovery tries, and every other limit but its own.
    for _ in 0..60 {
        rounds.mark_unchanged();
        clock.advance(Duration::from_secs(2 * 3600));
        let round = tokio::time::timeout(Duration::from_secs(20), rounds.changed());
        round.await.expect("recovery looks").unwrap();
        assert_eq!(rounds.borrow().1, Default::default());
    }
    assert!(!gate.has_more());
    arrival.answer(200);
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.attempt, run.is_recovery), (run::State::Succeeded, 1, false));
    assert_eq!(world.ledger(schedule.id).await.len(), 1);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_settlement_by_a_stale_hold_changes_nothing(database: TestDatabase) {
    let world = World::new(database).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let node = Uuid::from_u128(7);
    let run = forge::orphan(&world, &schedule, |run| {
        (run.attempt, run.epoch, run.node_id) = (2, 3, Some(node));
    })
    .await;
    let held = Hold { run_id: run.id, attempt: 2, node_id: node, epoch: 3 };
    let stale = [
        Hold { attempt: 1, ..held },
        Hold { epoch: 2, ..held },
        Hold { node_id: Uuid::from_u128(8), ..held },
    ];
    let settle = async |holds: &[Hold]| {
        let settlement = |hold: &Hold| Settlement {
            hold: *hold,
            task: "main".to_owned(),
            task_state: task_run::State::Succeeded,
            run_state: run::State::Succeeded,
            available_at: None,
            error: None,
            output: None,
            extra_attempts: 0,
            at: world.clock.now().into(),
            took: Duration::ZERO,
        };
        let tx = world.database.store.begin().await.unwrap();
        let settlements: Vec<_> = holds.iter().map(settlement).collect();
        let held = world.database.store.settle_if_held(&tx, &settlements).await.unwrap();
        world.database.store.commit(tx).await.unwrap();
        held
    };
    for hold in stale {
        assert!(settle(&[hold]).await.is_empty(), "{hold:?}");
        assert_eq!(world.runs(schedule.id).await, std::slice::from_ref(&run));
        assert_eq!(world.attempts(run.id).await[0].state, task_run::State::Running);
    }
    assert_eq!(settle(&[stale[0], held]).await, HashSet::from([held]));
    assert!(settle(&[held]).await.is_empty(), "a run settles once");
}
