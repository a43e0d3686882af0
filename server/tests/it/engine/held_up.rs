//! Locks that are held for a long time: by a node frozen in a transaction, or by an operator's
//! large request. Work that needs the locked rows waits; all other work continues.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use carillon::{
    clock::{Clock, ManualClock},
    store::DatabaseTransaction,
};
use entity::schedule::{self, Overlap};
use sea_orm::{ConnectionTrait, EntityTrait};
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::{
    gate::Gate,
    world::{World, at, ms, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(pauses_that_end_together_hold_up_no_fire);

/// A transaction that has locked a schedule and stays idle.
async fn locked(world: &World, schedule: Uuid) -> DatabaseTransaction {
    let store = &world.database.store;
    let tx = store.begin().await.unwrap();
    held_for_long(&tx).await;
    let sql = "SELECT id FROM schedule WHERE id = $1 FOR UPDATE";
    let row = tx.query_one_raw(store.dialect().statement(sql, [schedule.into()])).await.unwrap();
    assert!(row.is_some());
    tx
}

/// Keeps a transaction idle for longer than the server tolerates.
pub(super) async fn held_for_long(tx: &DatabaseTransaction) {
    let sql = "SET LOCAL idle_in_transaction_session_timeout = 0";
    tx.execute_unprepared(sql).await.unwrap();
}

/// Lets time pass until the returned handle is dropped: a service that meets a locked row tries
/// again after a pause, which may have begun before the clock was set.
pub(super) fn ticking(clock: &ManualClock) -> AbortOnDropHandle<()> {
    const TICK: Duration = Duration::from_millis(5);
    let clock = clock.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            Clock::system().sleep(TICK).await;
            clock.advance(TICK);
        }
    }))
}

fn paused_until(row: &mut schedule::Model, until: &str) {
    row.enabled = false;
    row.paused_reason = Some("maintenance".to_owned());
    row.paused_at = Some(ms("2026-03-01T11:00:00Z"));
    row.paused_until = Some(ms(until));
}

#[tokio::test]
async fn a_pause_whose_schedule_is_locked_holds_up_no_fire() {
    let (world, clock) =
        World::at(TestDatabase::postgres().await, at("2026-03-01T11:59:30Z")).await;
    let paused = |row: &mut _| paused_until(row, "2026-03-01T12:00:00Z");
    let paused = world.schedule("* * * * *", noop(), paused).await.id;
    let other = world.schedule("* * * * *", noop(), |_| {}).await.id;
    let engine = world.engine().await;
    let lock = locked(&world, paused).await;
    let _time = ticking(&clock);
    clock.set(at("2026-03-01T12:00:00Z"));
    world.settled(other, 1).await;
    clock.set(at("2026-03-01T12:01:00Z"));
    world.settled(other, 2).await;
    assert!(world.runs(paused).await.is_empty());

    lock.rollback().await.unwrap();
    world.signals.wake_planner();
    world
        .until("the pause has ended", || async {
            let row = schedule::Entity::find_by_id(paused).one(world.database.store.read()).await;
            row.unwrap().unwrap().enabled.then_some(())
        })
        .await;
    clock.set(at("2026-03-01T12:02:00Z"));
    world.settled(paused, 1).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn a_buffer_whose_schedule_is_locked_holds_up_no_fire() {
    let (world, clock) =
        World::at(TestDatabase::postgres().await, at("2026-03-01T11:59:30Z")).await;
    let mut gate = Gate::open().await;
    let buffers = |row: &mut schedule::Model| row.overlap = Overlap::BufferAll;
    let buffering = world.schedule("* * * * *", gate.task(), buffers).await.id;
    let other = world.schedule("* * * * *", noop(), |_| {}).await.id;
    let engine = world.engine().await;
    let _time = ticking(&clock);
    clock.set(at("2026-03-01T12:00:00Z"));
    let first = gate.arrival().await;
    // This run must settle before the schedule's next fire, or it would block that fire.
    world.settled(other, 1).await;
    clock.set(at("2026-03-01T12:01:00Z"));
    world.settled(other, 2).await;
    world
        .until("the second fire waits", || async {
            world
                .ledger(buffering)
                .await
                .iter()
                .any(|fire| fire.queue_position.is_some())
                .then_some(())
        })
        .await;

    let lock = locked(&world, buffering).await;
    // The waiting fire may run now, but the locked schedule prevents the write.
    first.answer(200);
    world.settled(buffering, 1).await;
    clock.set(at("2026-03-01T12:02:00Z"));
    world.settled(other, 3).await;
    assert!(!gate.has_more());

    lock.rollback().await.unwrap();
    world.signals.wake_planner();
    for count in 2..=3 {
        gate.arrival().await.answer(200);
        world.settled(buffering, count).await;
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn a_change_that_waits_for_a_hand_off_holds_up_no_other() {
    let (world, clock) =
        World::at(TestDatabase::postgres().await, at("2026-03-01T11:59:30Z")).await;
    let other = world.schedule("* * * * *", noop(), |_| {}).await.id;
    let store = world.database.store.clone();
    let engine = world.engine().await;
    // A hand-off is in the middle of its transaction and stays there.
    let stuck = store.begin_handoff().await.unwrap();
    let change = store.begin().await.unwrap();
    let mut change = tokio::spawn(async move { store.commit_after_handoffs(change).await });
    for minute in 0..3 {
        clock.set(at(&format!("2026-03-01T12:0{minute}:00Z")));
        world.settled(other, minute + 1).await;
    }
    assert!(!change.is_finished(), "it may not be answered while the hand-off goes on");

    stuck.rollback().await.unwrap();
    (&mut change).await.unwrap().unwrap();
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn pauses_that_end_together_hold_up_no_fire(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let seen = order.clone();
    world.database.store = world.database.store.clone().with_observer(move |sql| {
        for event in ["INSERT INTO fire", "SET enabled = true"] {
            if sql.contains(event) {
                seen.lock().unwrap().push(event);
            }
        }
    });
    let mut paused = Vec::new();
    for _ in 0..120 {
        let until = |row: &mut _| paused_until(row, "2026-03-01T12:00:00Z");
        paused.push(world.schedule("30 12 * * *", noop(), until).await.id);
    }
    let due = world.schedule("* * * * *", noop(), |_| {}).await.id;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T12:00:00Z"));
    world.settled(due, 1).await;
    world
        .until("all pauses have ended", || async {
            let ended = |seen: &[&str]| seen.iter().filter(|e| e.starts_with("SET")).count();
            (ended(&order.lock().unwrap()) == 120).then_some(())
        })
        .await;
    assert_eq!(order.lock().unwrap()[0], "INSERT INTO fire", "what is due goes first");
    clock.set(at("2026-03-01T12:30:00Z"));
    for schedule in paused {
        world.settled(schedule, 1).await;
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
