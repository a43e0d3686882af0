//! The work of dead processes: live nodes take it over.

use std::{
    collections::{HashMap, HashSet},
    future::{pending, ready},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use carillon::{
    engine::{Stepwise, StepwiseService},
    store::{
        FaultPoint, Faults, Store, StoreError,
        holds::{RunLease, Settlement},
        leases::LeaseState,
        nodes::{Beat, BeatOutcome},
    },
    target::{CommandTarget, Target},
};
use chrono::TimeDelta;
use entity::{
    fire::{self, Reason, Verdict},
    node, run, task_run,
};
use futures::FutureExt;
use sea_orm::{ConnAcquireErr, DbErr, Statement};
use serde_json::json;
use tokio::sync::Notify;
use uuid::Uuid;

use super::{
    forge,
    gate::Gate,
    world::{World, at, ms, noop, task},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_run_of_a_killed_node_is_taken_over_by_its_next_life,
    an_intent_whose_owner_is_dead_is_handed_over,
    an_old_intent_is_handed_over_although_its_owner_lives,
    a_fire_that_is_days_late_is_recovered_when_its_hand_off_is_lost,
    how_long_recovery_tries_counts_from_the_claim,
    a_run_that_its_own_node_does_not_know_is_taken_over,
    a_node_gives_up_unknown_attempts_while_another_does_recovery,
    a_run_that_is_alive_is_never_fired_again,
    recovery_has_time_to_act_however_short_its_pace_is,
    a_settlement_by_a_stale_hold_changes_nothing,
    a_recovery_that_was_away_lets_the_others_say_first_that_they_live,
    a_recovery_that_was_away_ends_no_overrun_before_its_node_can_write,
    a_node_that_was_away_ends_none_of_its_attempts_before_it_can_write,
    what_one_part_of_recovery_cannot_do_holds_up_no_other,
    a_step_of_the_databases_clock_declares_nobody_dead,
    who_is_dead_is_found_although_the_databases_clock_was_stepped_back,
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

    // The killed node's result arrives after a long time, too late.
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

/// If the term of the lease were only a few intervals, it would be over before the lease is
/// written.
async fn recovery_has_time_to_act_however_short_its_pace_is(database: TestDatabase) {
    let (mut world, _clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.settings.recovery_interval = Duration::ZERO;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let orphan = forge::orphan(&world, &schedule, |_| {}).await;
    let engine = world.engine().await;
    let run = world.run_is(orphan.id, run::State::Succeeded).await;
    assert_eq!((run.attempt, run.recovery_attempts), (2, 1));
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

/// A store whose process dies right after the first commit, once the flag is set.
fn mortal(store: &Store) -> (Store, Arc<AtomicBool>, Arc<Notify>) {
    let (is_armed, died) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
    let (armed, dies) = (is_armed.clone(), died.clone());
    let edge = move |edge| {
        if edge == FaultPoint::Committed && armed.load(Ordering::SeqCst) {
            dies.notify_one();
            return pending().boxed();
        }
        ready(Ok(())).boxed()
    };
    (store.clone().with_faults(Faults::new(edge, || None)), is_armed, died)
}

/// Such a fire is caught up on after an outage or a pause, or was released from the buffer: its
/// instant is long past when it is claimed.
async fn a_fire_that_is_days_late_is_recovered_when_its_hand_off_is_lost(database: TestDatabase) {
    let (mut world, _clock) = World::at(database, at("2026-03-03T13:00:00Z")).await;
    let sound = world.database.store.clone();
    type Change = fn(&mut fire::Model);
    let made_up_for: Change = |fire| fire.claimed_by = None;
    let buffered: Change = |fire| {
        (fire.claimed_by, fire.queue_position) = (None, Some(1));
        fire.reason = Reason::Buffered;
        fire.claimed_at = fire.scheduled_at;
    };
    for waits in [None, Some(made_up_for), Some(buffered)] {
        let schedule = if let Some(change) = waits {
            let schedule = forge::idle(&world, noop(), |_| {}).await;
            let long_ago = |fire: &mut fire::Model| {
                fire.scheduled_at = ms("2026-03-01T12:00:00Z");
                (fire.due_at, fire.last_scheduled_at) = (fire.scheduled_at, fire.scheduled_at);
                change(fire);
            };
            forge::intent(&world, &schedule, long_ago).await;
            schedule
        } else {
            let caught_up = world.schedule("0 12 * * SUN", noop(), |row| {
                row.next_scheduled_at = Some(ms("2026-03-01T12:00:00Z"));
                row.catch_up_window_ms = 7 * 86_400_000;
            });
            caught_up.await
        };
        let (store, is_armed, died) = mortal(&sound);
        world.database.store = store;
        let (node, mut planner) = world.step("planner").await;
        is_armed.store(true, Ordering::SeqCst);
        tokio::select! {
            round = planner.once(world.clock.now()) => panic!("it lives on: {round:?}"),
            () = died.notified() => {}
        }
        node.abandon();
        world.database.store = sound.clone();
        let lost = world.ledger(schedule.id).await.remove(0);
        assert_eq!((lost.verdict, lost.run_id), (Verdict::Pending, None));
        assert!(lost.claimed_by.is_some());

        let engine = world.engine().await;
        let run = world.settled_run(schedule.id).await;
        assert_eq!((run.id, run.is_recovery), (lost.id, true));
        let fire = world.ledger(schedule.id).await.remove(0);
        assert_eq!((fire.verdict, fire.reason), (Verdict::Started, Reason::Recovered));
        assert_eq!(fire.claimed_at, world.clock.now().into());
        engine.shutdown(Duration::from_secs(5)).await.unwrap();
    }
}

/// The limit counts from the claim, however often recovery has taken the fire over since then.
async fn how_long_recovery_tries_counts_from_the_claim(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-03T12:00:00Z")).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let tried = forge::intent(&world, &schedule, |fire| {
        fire.claimed_at = ms("2026-03-02T11:00:00Z");
        (fire.recovery_attempts, fire.recovery_at) = (1, Some(ms("2026-03-03T11:00:00Z")));
    })
    .await;
    let engine = world.engine().await;
    let fire = world.decided(schedule.id, 1).await.remove(0);
    assert_eq!((fire.verdict, fire.reason), (Verdict::Abandoned, Reason::TooOld));
    assert_eq!((fire.claimed_at, fire.recovery_attempts), (tried.claimed_at, 2));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// This happens after a commit whose answer was lost: according to the tables the node works on the
/// run, but the node does not know the run.
async fn a_run_that_its_own_node_does_not_know_is_taken_over(database: TestDatabase) {
    let world = World::new(database).await;
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

async fn a_node_gives_up_unknown_attempts_while_another_does_recovery(database: TestDatabase) {
    let world = World::new(database).await;
    let other = forge::node(&world).await;
    let lease = world
        .database
        .store
        .hold_lease_if_free("recovery", other, Duration::from_secs(3_600))
        .await;
    assert!(matches!(lease, Ok(LeaseState::Held(_))), "{lease:?}");
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
    // Longer than all limits of recovery, except the one that is tested here.
    for _ in 0..60 {
        rounds.mark_unchanged();
        clock.advance(Duration::from_secs(2 * 3600));
        let round = tokio::time::timeout(Duration::from_secs(60), rounds.changed());
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
    let held = RunLease { run_id: run.id, attempt: 2, node_id: node, epoch: 3 };
    let stale = [
        RunLease { attempt: 1, ..held },
        RunLease { epoch: 2, ..held },
        RunLease { node_id: Uuid::from_u128(8), ..held },
    ];
    let settle = async |holds: &[RunLease]| {
        let settlement = |hold: &RunLease| Settlement {
            hold: *hold,
            task: "main".to_owned(),
            task_state: task_run::State::Succeeded,
            run_state: run::State::Succeeded,
            available_at: None,
            error: None,
            output: None,
            lines: None,
            extra_attempts: 0,
            at: world.clock.now().into(),
            took: Duration::ZERO,
            traced: None,
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

/// A recovery whose database may be down, executed by hand.
async fn services_that_may_be_away(
    world: &mut World,
) -> (Stepwise, HashMap<&'static str, StepwiseService>, Arc<AtomicBool>) {
    let sound = world.database.store.clone();
    let is_away = Arc::new(AtomicBool::new(false));
    let away = is_away.clone();
    let edge = move |edge| {
        let fails = edge == FaultPoint::Begin && away.load(Ordering::SeqCst);
        let lost = StoreError::Database(DbErr::ConnectionAcquire(ConnAcquireErr::Timeout));
        ready(if fails { Err(lost) } else { Ok(()) }).boxed()
    };
    let (away, backend) = (is_away.clone(), sound.dialect().backend());
    let nowhere = move || {
        away.load(Ordering::SeqCst).then(|| Statement::from_string(backend, "SELECT 1 FROM away"))
    };
    world.database.store = sound.clone().with_faults(Faults::new(edge, nowhere));
    let (node, steps) = world.by_hand().await;
    world.database.store = sound;
    (node, steps, is_away)
}

async fn a_recovery_that_may_be_away(
    world: &mut World,
) -> (Stepwise, StepwiseService, Arc<AtomicBool>) {
    let (node, mut steps, is_away) = services_that_may_be_away(world).await;
    (node, steps.remove("recovery").unwrap(), is_away)
}

/// After an outage every heartbeat is old, so the first node to recover could take over the work of
/// all others.
async fn a_recovery_that_was_away_lets_the_others_say_first_that_they_live(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let expiry = world.settings.heartbeat_expiry;
    let (_node, mut recovery, is_away) = a_recovery_that_may_be_away(&mut world).await;
    forge::node(&world).await;
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);

    is_away.store(true, Ordering::SeqCst);
    recovery.once(clock.now()).await.unwrap_err();
    clock.pass(expiry * 2);
    is_away.store(false, Ordering::SeqCst);
    // Work that is known to be lost is taken over at once.
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    forge::orphan(&world, &schedule, |_| {}).await;
    let found = recovery.once(clock.now()).await.unwrap().unwrap();
    assert!(found.contains("expired_nodes: 0, orphans: 1,"), "{found}");
    clock.pass(expiry / 2);
    let found = recovery.once(clock.now()).await.unwrap().unwrap();
    assert!(found.contains("expired_nodes: 1, orphans: 0,"), "{found}");
}

/// The node could not write the results of attempts that ended during the outage.
async fn a_recovery_that_was_away_ends_no_overrun_before_its_node_can_write(
    database: TestDatabase,
) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let expiry = world.settings.heartbeat_expiry;
    let limit = Duration::from_secs(60 + 1) + expiry;
    let (_node, mut recovery, is_away) = a_recovery_that_may_be_away(&mut world).await;
    let other = forge::node(&world).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let run = forge::orphan(&world, &schedule, |run| {
        run.node_id = Some(other);
        run.hard_deadline_at = Some(run.created_at);
    })
    .await;
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);

    is_away.store(true, Ordering::SeqCst);
    recovery.once(clock.now()).await.unwrap_err();
    clock.pass(limit);
    is_away.store(false, Ordering::SeqCst);
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);
    assert_eq!(world.runs(schedule.id).await[0].state, run::State::Running);

    // The node sends heartbeats and has no result to write, so the attempt makes no progress.
    let beat = world.database.store.beat_if_alive(other, Beat::default()).await.unwrap();
    assert!(matches!(beat, BeatOutcome::Alive(_)));
    clock.pass(expiry / 2);
    let found = recovery.once(clock.now()).await.unwrap().unwrap();
    assert!(found.contains("expired_nodes: 0, orphans: 0, overruns: 1,"), "{found}");
    world.run_is(run.id, run::State::TimedOut).await;
}

/// As long as the log lines of an attempt are not written, it counts as running, even if it has
/// ended.
async fn a_node_that_was_away_ends_none_of_its_attempts_before_it_can_write(
    database: TestDatabase,
) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let expiry = world.settings.heartbeat_expiry;
    let limit = Duration::from_secs(60 + 1) + expiry;
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // The lines are too many for the attempt's settlement.
    let script = format!("seq 9999; echo done > {}", fifo.display());
    let command = CommandTarget { script: Some(script), ..CommandTarget::default() };
    let schedule = world.due_now(task(Target::Command(command)), |_| {}).await;
    let (node, mut steps, is_away) = services_that_may_be_away(&mut world).await;
    steps.get_mut("planner").unwrap().once(clock.now()).await.unwrap();
    assert_eq!(tokio::fs::read_to_string(&fifo).await.unwrap(), "done\n");
    assert_eq!(node.attempts(), 1);

    is_away.store(true, Ordering::SeqCst);
    let recovery = steps.get_mut("recovery").unwrap();
    clock.pass(limit);
    recovery.once(clock.now()).await.unwrap_err();
    is_away.store(false, Ordering::SeqCst);
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);
    assert_eq!(world.runs(schedule.id).await[0].state, run::State::Running);

    // The attempt's lines are still not written, so it makes no progress.
    clock.pass(expiry / 2);
    let found = recovery.once(clock.now()).await.unwrap().unwrap();
    assert!(found.contains("overruns: 1,"), "{found}");
    assert_eq!(world.runs(schedule.id).await[0].state, run::State::TimedOut);
}

/// A part of a round that fails, even if it fails each time, keeps no other part from its turn.
async fn what_one_part_of_recovery_cannot_do_holds_up_no_other(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.refuse("UPDATE ON run", "NEW.is_recovery").await;
    let orphaned = forge::idle(&world, noop(), |_| {}).await;
    forge::orphan(&world, &orphaned, |_| {}).await;
    let lost = forge::idle(&world, noop(), |_| {}).await;
    forge::intent(&world, &lost, |_| {}).await;
    let late = forge::idle(&world, noop(), |row| row.start_deadline_ms = Some(10)).await;
    let waits = |run: &mut run::Model| (run.state, run.attempt) = (run::State::Queued, 0);
    forge::orphan(&world, &late, waits).await;
    let (_node, mut recovery) = world.step("recovery").await;
    let error = recovery.once(clock.now()).await.unwrap_err().to_string();
    assert!(error.contains("orphaned runs: ") && !error.contains(';'), "{error}");
    assert_eq!(world.runs(orphaned.id).await[0].state, run::State::Running);
    assert_eq!(world.runs(lost.id).await.len(), 1, "the lost hand-off was done again");
    assert_eq!(world.runs(late.id).await[0].state, run::State::Cancelled);
}

/// This happens after a fail-over to a server with another clock: all heartbeats look old.
async fn a_step_of_the_databases_clock_declares_nobody_dead(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let expiry = world.settings.heartbeat_expiry;
    let lives = forge::node(&world).await;
    let (_node, mut recovery) = world.step("recovery").await;
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);

    clock.advance(expiry * 2);
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);
    let beat = world.database.store.beat_if_alive(lives, Beat::default()).await.unwrap();
    assert!(matches!(beat, BeatOutcome::Alive(_)));
    clock.pass(expiry);
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);

    // From then on the node is silent. A step of the clock does not make its silence longer.
    clock.advance(expiry * 2);
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);
    clock.pass(expiry + Duration::from_millis(1));
    let found = recovery.once(clock.now()).await.unwrap().unwrap();
    assert!(found.contains("expired_nodes: 1,"), "{found}");
}

/// After the step, the last heartbeat of the dead node and the end of its lease are in the future.
async fn who_is_dead_is_found_although_the_databases_clock_was_stepped_back(
    database: TestDatabase,
) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let (expiry, store) = (world.settings.heartbeat_expiry, &world.database.store);
    let dies = forge::node(&world).await;
    let term = Duration::from_secs(15);
    let lease = store.hold_lease_if_free("recovery", dies, term).await.unwrap();
    assert_eq!(lease, LeaseState::Held(1));
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    forge::orphan(&world, &schedule, |run| run.node_id = Some(dies)).await;
    let (node, mut steps) = world.by_hand().await;
    let mut recovery = steps.remove("recovery").unwrap();
    let mut pulse = steps.remove("pulse").unwrap();
    assert_eq!(recovery.once(clock.now()).await.unwrap(), None);

    clock.set(clock.now() - TimeDelta::hours(1));
    let mut passed = Duration::ZERO;
    let interval = world.settings.heartbeat_interval;
    while passed <= expiry {
        assert_eq!(store.node(dies).await.unwrap().unwrap().state, node::State::Alive);
        clock.pass(interval);
        passed += interval;
        pulse.once(clock.now()).await.unwrap();
        let found = recovery.once(clock.now()).await.unwrap();
        assert_eq!(found.is_some(), passed > expiry, "{passed:?}: {found:?}");
    }
    let dead = store.node(dies).await.unwrap().unwrap();
    assert_eq!(dead.state, node::State::Dead);
    assert_eq!(store.lease_holder("recovery").await.unwrap().as_deref(), Some("test"));
    let run = world.runs(schedule.id).await.remove(0);
    assert_eq!((run.state, run.is_recovery), (run::State::Retrying, true));
    assert_eq!(store.node(node.node_id().await).await.unwrap().unwrap().state, node::State::Alive);
}
