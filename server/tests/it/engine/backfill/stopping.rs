use std::time::Duration;

use carillon::{commands::Call, store::reads::within::Within};
use entity::{
    backfill::State,
    backfill_fire::State::{Cancelled, Pending, Running, Succeeded},
    run, schedule,
};
use sea_orm::ConnectionTrait;
use serde_json::json;

use super::{
    super::{
        gate::Gate,
        world::{World, at, noop},
    },
    ada, backfill, commands, ended, fires, fires_are, key, missing, operator, order, states, usual,
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_paused_backfill_starts_nothing_until_it_is_resumed,
    a_backfill_that_is_cancelled_settles_every_fire,
    a_run_that_waits_is_cancelled_with_its_backfill,
    deleting_the_schedule_stops_its_backfills,
    a_backfill_cancelled_without_a_running_node_still_ends,
    a_run_that_another_transaction_has_locked_is_cancelled_in_a_later_round,
    a_backfill_that_can_start_nothing_pauses_itself_with_the_reason,
);

const NOW: &str = "2026-03-01T12:00:30Z";

fn paused(row: &mut schedule::Model) {
    row.enabled = false;
}

async fn a_paused_backfill_starts_nothing_until_it_is_resumed(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let mut gate = Gate::open().await;
    let schedule = world.schedule("0 * * * *", gate.task(), paused).await;
    let id = order(&world, missing(&schedule, "09:00:00", "12:00:00"), usual()).await;
    let engine = world.engine().await;
    let first = gate.arrival().await;
    let commands = commands(&world);
    commands.pause_backfill(&operator(), id, &Call::once()).await.unwrap();
    let row = backfill(&world, id).await;
    assert_eq!((row.state, row.paused_by.as_deref()), (State::Paused, Some("ada")));
    // Live runs continue, and their results are recorded.
    first.answer(200);
    fires_are(&world, id, &[Succeeded, Pending, Pending]).await;
    assert!(!gate.has_more());

    commands.resume_backfill(&operator(), id, &Call::once()).await.unwrap();
    for time in ["10:00:00", "11:00:00"] {
        let next = gate.arrival().await;
        assert_eq!(next.key, key(&schedule, time));
        next.answer(200);
    }
    let row = ended(&world, id).await;
    assert_eq!((row.state, row.paused_at), (State::Completed, None));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_backfill_that_is_cancelled_settles_every_fire(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let mut gate = Gate::open().await;
    let schedule = world.schedule("0 * * * *", gate.task(), paused).await;
    let mut manner = usual();
    manner.concurrency = 2;
    let id = order(&world, missing(&schedule, "07:00:00", "12:00:00"), manner).await;
    let engine = world.engine().await;
    gate.arrival().await.answer(200);
    let _unanswered = (gate.arrival().await, gate.arrival().await);
    fires_are(&world, id, &[Succeeded, Running, Running, Pending, Pending]).await;
    let why = Some("the receiver is down again");
    commands(&world).cancel_backfill(&operator(), id, why, &Call::once()).await.unwrap();
    assert_eq!(states(&world, id).await[3..], [Cancelled, Cancelled], "at once");

    let row = ended(&world, id).await;
    assert_eq!((row.state, row.cancelled_by.as_deref()), (State::Cancelled, Some("ada")));
    assert_eq!(row.cancel_reason.as_deref(), why);
    let fires = fires(&world, id).await;
    let told: Vec<_> = fires.iter().map(|fire| fire.state).collect();
    assert_eq!(told, [Succeeded, Cancelled, Cancelled, Cancelled, Cancelled]);
    for fire in &fires[1..3] {
        let run = world.run_is(fire.run_id.unwrap(), run::State::Cancelled).await;
        assert_eq!((run.cancel_by.as_deref(), run.cancel_reason.as_deref()), (Some("ada"), why));
    }
    for fire in &fires[3..] {
        assert_eq!((fire.run_id, fire.detail.as_deref()), (None, why));
    }
    assert_eq!(world.runs(schedule.id).await.len(), 3);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_run_that_waits_is_cancelled_with_its_backfill(database: TestDatabase) {
    let (mut world, _clock) = World::at(database, at(NOW)).await;
    world.settings.capacity = 1;
    let mut gate = Gate::open().await;
    world.due_now(gate.task(), |_| {}).await;
    let engine = world.engine().await;
    let in_the_only_place = gate.arrival().await;
    let schedule = world.schedule("0 * * * *", gate.task(), paused).await;
    let id = order(&world, missing(&schedule, "10:00:00", "12:00:00"), usual()).await;
    fires_are(&world, id, &[Running, Pending]).await;
    let run = fires(&world, id).await[0].run_id.unwrap();
    world.run_is(run, run::State::Queued).await;
    commands(&world).cancel_backfill(&operator(), id, None, &Call::once()).await.unwrap();
    world.run_is(run, run::State::Cancelled).await;
    assert_eq!(ended(&world, id).await.state, State::Cancelled);
    assert_eq!(states(&world, id).await, [Cancelled, Cancelled]);
    in_the_only_place.answer(200);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(!gate.has_more());
}

async fn deleting_the_schedule_stops_its_backfills(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let mut gate = Gate::open().await;
    let schedule = world.schedule("0 * * * *", gate.task(), paused).await;
    let at_work = order(&world, missing(&schedule, "10:00:00", "12:00:00"), usual()).await;
    let engine = world.engine().await;
    let _unanswered = gate.arrival().await;
    let waiting = order(&world, missing(&schedule, "08:00:00", "10:00:00"), usual()).await;
    let commands = commands(&world);
    commands.pause_backfill(&operator(), waiting, &Call::once()).await.unwrap();
    let editor = ada().editor().unwrap();
    commands.delete_schedule(&editor, schedule.id, None, None, &Call::once()).await.unwrap();
    for id in [at_work, waiting] {
        let row = ended(&world, id).await;
        assert_eq!(row.state, State::Cancelled);
        assert_eq!(row.cancel_reason.as_deref(), Some("the schedule was deleted"));
        assert!(states(&world, id).await.iter().all(|state| *state == Cancelled));
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(world.runs(schedule.id).await.iter().all(|run| run.state == run::State::Cancelled));
}

async fn a_backfill_cancelled_without_a_running_node_still_ends(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let mut gate = Gate::open().await;
    let schedule = world.schedule("0 * * * *", gate.task(), paused).await;
    let id = order(&world, missing(&schedule, "10:00:00", "12:00:00"), usual()).await;
    let engine = world.engine().await;
    let _unanswered = gate.arrival().await;
    fires_are(&world, id, &[Running, Pending]).await;
    engine.abandon();
    commands(&world).cancel_backfill(&operator(), id, None, &Call::once()).await.unwrap();
    assert_eq!(backfill(&world, id).await.finished_at, None);

    let engine = world.engine().await;
    assert_eq!(ended(&world, id).await.state, State::Cancelled);
    assert_eq!(states(&world, id).await, [Cancelled, Cancelled]);
    let run = fires(&world, id).await[0].run_id.unwrap();
    world.run_is(run, run::State::Cancelled).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(!gate.has_more());
}

/// A node may be frozen in the middle of a transaction, and keep its locks for many seconds.
async fn a_run_that_another_transaction_has_locked_is_cancelled_in_a_later_round(
    database: TestDatabase,
) {
    if !database.store.dialect().is_postgres() {
        println!("not tried: SQLite has one writer, and locks no rows");
        return;
    }
    let (world, clock) = World::at(database, at(NOW)).await;
    let schedule = world.schedule("0 * * * *", noop(), paused).await;
    let id = order(&world, missing(&schedule, "11:00:00", "12:00:00"), usual()).await;
    let (_node, mut services) = world.by_hand().await;
    let runner = services.get_mut("backfill").unwrap();
    runner.once(clock.now()).await.unwrap();
    let run = fires(&world, id).await[0].run_id.unwrap();
    let store = &world.database.store;
    let tx = store.begin().await.unwrap();
    let lock =
        store.dialect().statement("SELECT 1 FROM run WHERE id = $1 FOR UPDATE", [run.into()]);
    tx.execute_raw(lock).await.unwrap();
    commands(&world).cancel_backfill(&operator(), id, None, &Call::once()).await.unwrap();
    let round = tokio::time::timeout(Duration::from_secs(60), runner.once(clock.now()));
    round.await.expect("the round ends").unwrap();
    assert_eq!(states(&world, id).await, [Running]);
    tx.rollback().await.unwrap();

    runner.once(clock.now()).await.unwrap();
    world.run_is(run, run::State::Cancelled).await;
    assert_eq!(ended(&world, id).await.state, State::Cancelled);
    assert_eq!(states(&world, id).await, [Cancelled]);
}

async fn a_backfill_that_can_start_nothing_pauses_itself_with_the_reason(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let unreadable = world.schedule("0 * * * *", noop(), paused).await;
    let definition = json!({ "tasks": [{ "name": "from the future" }] });
    let breaks = "UPDATE workflow_version SET definition = $1 WHERE workflow_id = $2";
    world.write(breaks, [definition.into(), unreadable.workflow_id.into()]).await;
    let large = world.schedule("0 * * * *", noop(), paused).await;
    let mut manner = usual();
    manner.context = Some(json!({ "over": "x".repeat(150 * 1024) }));
    let wanted = |schedule| missing(schedule, "10:00:00", "12:00:00");
    let first = order(&world, wanted(&unreadable), usual()).await;
    let second = order(&world, wanted(&large), manner).await;
    let grown = json!({ "base": "x".repeat(150 * 1024) });
    let grow = "UPDATE schedule SET context = $1 WHERE id = $2";
    world.write(grow, [grown.into(), large.id.into()]).await;

    let engine = world.engine().await;
    for (id, why) in [(first, "read version 1 of workflow"), (second, "the limit is 262144")] {
        let row = world
            .until("it is paused", || async {
                Some(backfill(&world, id).await).filter(|row| row.state == State::Paused)
            })
            .await;
        assert_eq!(row.paused_by.as_deref(), Some("carillon"));
        let reason = row.paused_reason.unwrap();
        assert!(reason.contains(why), "{reason}");
        assert_eq!(states(&world, id).await, [Pending; 2], "nothing is spent");
    }
    let (value, issue) = world.self_paused(Within::All).await;
    assert_eq!(value, "2");
    let issue = issue.unwrap();
    assert!(issue.starts_with("2 backfills that can start nothing"), "{issue}");
    let mend = json!({});
    world.write(grow, [mend.into(), large.id.into()]).await;
    commands(&world).resume_backfill(&operator(), second, &Call::once()).await.unwrap();
    let row = ended(&world, second).await;
    assert_eq!((row.state, row.paused_reason), (State::Completed, None));
    assert_eq!(states(&world, second).await, [Succeeded; 2]);
    assert_eq!(world.self_paused(Within::All).await.0, "1");
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(world.runs(unreadable.id).await.is_empty());
}
