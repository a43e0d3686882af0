//! Fires that wait until the runs that block them have settled.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use carillon::{clock::ManualClock, engine::Engine};
use entity::{
    fire::{self, MadeUpFor, Reason, Verdict},
    run,
    schedule::{self, CatchUp, Overlap},
    task_run,
};
use uuid::Uuid;

use super::{
    forge,
    gate::{Arrival, Gate},
    world::{World, at, ms, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    with_buffer_one_the_first_waits_and_later_ones_are_skipped,
    with_buffer_all_as_many_as_the_limit_wait_and_start_in_their_order,
    with_cancel_other_the_run_is_cancelled_and_the_fire_starts_when_it_has_settled,
    with_cancel_other_a_later_fire_replaces_the_one_that_waits,
    with_cancel_other_a_run_that_waits_for_its_next_attempt_gives_way_at_once,
    with_terminate_other_the_run_is_ended_and_the_fire_starts_at_once,
    with_terminate_other_of_several_due_fires_the_last_starts,
    a_waiting_fire_is_skipped_when_its_deadline_passes,
    a_schedule_that_changed_lets_go_of_what_waits,
    what_waits_survives_a_crash,
    a_fire_that_was_released_before_a_crash_is_handed_over_after_it,
    late_fires_that_become_due_wait_as_well,
    a_manual_run_that_settles_releases_what_waits_for_it,
    a_storm_without_buffers_asks_nothing_about_them,
    a_run_that_settles_during_the_planners_rest_releases_the_next_soon_after,
    a_fire_that_can_start_is_released_although_another_schedule_still_waits,
);

/// A schedule that is due every minute. The run of its fire of 12:00 is in progress.
struct Busy {
    world: World,
    clock: ManualClock,
    gate: Gate,
    schedule: schedule::Model,
    engine: Engine,
    first: Arrival,
}

async fn busy(database: TestDatabase, change: impl FnOnce(&mut schedule::Model)) -> Busy {
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let mut gate = Gate::open().await;
    let schedule = world.schedule("* * * * *", gate.task(), change).await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T12:00:00Z"));
    let first = gate.arrival().await;
    Busy { world, clock, gate, schedule, engine, first }
}

impl Busy {
    /// Moves the clock to a minute past noon, and waits until its fire has a row.
    async fn minute(&self, minute: i64) -> fire::Model {
        let at = at("2026-03-01T12:00:00Z") + chrono::TimeDelta::minutes(minute);
        self.clock.set(at);
        self.world
            .until(&format!("the fire of minute {minute} is there"), async || {
                let ledger = self.world.ledger(self.schedule.id).await;
                ledger.into_iter().find(|fire| fire.scheduled_at == at.into())
            })
            .await
    }

    async fn fire(&self, id: Uuid) -> fire::Model {
        let ledger = self.world.ledger(self.schedule.id).await;
        ledger.into_iter().find(|fire| fire.id == id).unwrap()
    }

    /// Waits until the fire has its verdict.
    async fn verdict(&self, id: Uuid) -> (Verdict, Reason, Option<String>) {
        let fire = self
            .world
            .until("the fire is decided", async || {
                let fire = self.fire(id).await;
                fire.decided_at.is_some().then_some(fire)
            })
            .await;
        (fire.verdict, fire.reason, fire.detail)
    }

    async fn end(self) {
        self.engine.shutdown(Duration::from_secs(5)).await.unwrap();
    }
}

fn standing(fire: &fire::Model) -> (Verdict, Reason) {
    (fire.verdict, fire.reason)
}

/// The run to which a request belongs.
fn run_of(arrival: &Arrival) -> Uuid {
    arrival.body["run_id"].as_str().unwrap().parse().unwrap()
}

async fn with_buffer_one_the_first_waits_and_later_ones_are_skipped(database: TestDatabase) {
    let mut busy = busy(database, |row| row.overlap = Overlap::BufferOne).await;
    let in_the_way = run_of(&busy.first);
    let waits = busy.minute(1).await;
    assert_eq!(standing(&waits), (Verdict::Pending, Reason::Buffered));
    assert_eq!((waits.claimed_by, waits.detail), (None, Some(in_the_way.to_string())));
    let late = busy.minute(2).await;
    assert_eq!(standing(&late), (Verdict::Skipped, Reason::BufferFull));
    assert!(!busy.gate.has_more());

    busy.first.answer(200);
    let second = busy.gate.arrival().await;
    assert_eq!(run_of(&second), waits.id);
    let started = busy.world.ledger(busy.schedule.id).await.remove(1);
    assert_eq!(standing(&started), (Verdict::Started, Reason::Buffered));
    assert_eq!((started.run_id, started.queue_position), (Some(waits.id), None));
    second.answer(200);
    busy.world.settled(busy.schedule.id, 2).await;
    assert!(!busy.gate.has_more());
    busy.engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn with_buffer_all_as_many_as_the_limit_wait_and_start_in_their_order(
    database: TestDatabase,
) {
    let mut busy = busy(database, |row| {
        row.overlap = Overlap::BufferAll;
        row.buffer_limit = Some(2);
    })
    .await;
    let mut waiting = Vec::new();
    for minute in 1..=2 {
        let fire = busy.minute(minute).await;
        assert_eq!(standing(&fire), (Verdict::Pending, Reason::Buffered));
        waiting.push(fire.id);
    }
    let full = busy.minute(3).await;
    assert_eq!(standing(&full), (Verdict::Skipped, Reason::BufferFull));
    assert_eq!(full.detail.as_deref(), Some("2"));

    busy.first.answer(200);
    for fire in waiting {
        let arrival = busy.gate.arrival().await;
        assert_eq!(run_of(&arrival), fire);
        assert!(!busy.gate.has_more(), "one at a time");
        arrival.answer(200);
    }
    busy.world.settled(busy.schedule.id, 3).await;
    busy.engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn with_cancel_other_the_run_is_cancelled_and_the_fire_starts_when_it_has_settled(
    database: TestDatabase,
) {
    let mut busy = busy(database, |row| row.overlap = Overlap::CancelOther).await;
    let first = run_of(&busy.first);
    let next = busy.minute(1).await;
    assert_eq!(standing(&next), (Verdict::Pending, Reason::Buffered));
    let arrival = busy.gate.arrival().await;
    assert_eq!(run_of(&arrival), next.id);
    let cancelled = busy.world.run_is(first, run::State::Cancelled).await;
    assert_eq!(cancelled.cancel_by.as_deref(), Some("carillon"));
    let reason = cancelled.cancel_reason.unwrap();
    assert!(reason.contains(&next.id.to_string()), "{reason}");
    let started = busy.world.run_is(next.id, run::State::Running).await;
    assert!(started.created_at >= cancelled.finished_at.unwrap());
    arrival.answer(200);
    busy.world.settled(busy.schedule.id, 2).await;
    busy.end().await;
}

/// The run that should be stopped is on a silent node, so it does not stop.
async fn with_cancel_other_a_later_fire_replaces_the_one_that_waits(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    world.settings.heartbeat_expiry = Duration::from_secs(3_600);
    let other = forge::node(&world).await;
    let cancel = |row: &mut schedule::Model| row.overlap = Overlap::CancelOther;
    let schedule = world.schedule("* * * * *", noop(), cancel).await;
    let stuck = forge::orphan(&world, &schedule, |run| run.node_id = Some(other)).await;
    let engine = world.engine().await;
    let waits = async |minute: &str| {
        clock.set(at(minute));
        world
            .until("the fire waits", async || {
                let ledger = world.ledger(schedule.id).await;
                let found = ledger.into_iter().find(|fire| fire.scheduled_at == ms(minute));
                found.filter(|fire| fire.queue_position.is_some())
            })
            .await
    };
    let earlier = waits("2026-03-01T12:00:00Z").await;
    let later = waits("2026-03-01T12:01:00Z").await;
    let ledger = world.ledger(schedule.id).await;
    let replaced = ledger.iter().find(|fire| fire.id == earlier.id).unwrap();
    assert_eq!(standing(replaced), (Verdict::Skipped, Reason::Replaced));
    assert_eq!(replaced.detail, Some(later.id.to_string()));
    let stuck = world.run_is(stuck.id, run::State::Running).await;
    assert!(stuck.cancel_reason.unwrap().contains(&earlier.id.to_string()));
    engine.abandon();
}

async fn with_cancel_other_a_run_that_waits_for_its_next_attempt_gives_way_at_once(
    database: TestDatabase,
) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let mut gate = Gate::open().await;
    let mut task = gate.task();
    task.retry.max_attempts = 5;
    task.retry.initial_ms = 3_600_000;
    task.retry.max_ms = 3_600_000;
    let cancel = |row: &mut schedule::Model| row.overlap = Overlap::CancelOther;
    let schedule = world.schedule("* * * * *", task, cancel).await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T12:01:00Z"));
    gate.arrival().await.answer(500);
    let first = world.runs(schedule.id).await.remove(0);
    world.run_is(first.id, run::State::Retrying).await;
    clock.set(at("2026-03-01T12:02:00Z"));
    let arrival = gate.arrival().await;
    assert_ne!(run_of(&arrival), first.id);
    world.run_is(first.id, run::State::Cancelled).await;
    arrival.answer(200);
    world.settled(schedule.id, 2).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn with_terminate_other_the_run_is_ended_and_the_fire_starts_at_once(database: TestDatabase) {
    let mut busy = busy(database, |row| row.overlap = Overlap::TerminateOther).await;
    let first = run_of(&busy.first);
    let next = busy.minute(1).await;
    let arrival = busy.gate.arrival().await;
    assert_eq!(run_of(&arrival), next.id);
    // The answer comes too late: the node has lost the run, and the outcome is discarded.
    busy.first.answer(200);
    let ended = busy.world.run_is(first, run::State::Cancelled).await;
    assert!(ended.cancel_reason.unwrap().contains(&next.id.to_string()));
    assert!(ended.finished_at.is_some());
    let states: Vec<_> = busy.world.attempts(first).await.iter().map(|row| row.state).collect();
    assert_eq!(states, [task_run::State::Cancelled]);
    let next = busy.world.ledger(busy.schedule.id).await.remove(1);
    assert_eq!(standing(&next), (Verdict::Started, Reason::OnTime));
    arrival.answer(200);
    busy.world.run_is(next.id, run::State::Succeeded).await;
    busy.world.run_is(first, run::State::Cancelled).await;
    busy.engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn with_terminate_other_of_several_due_fires_the_last_starts(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:02:30Z")).await;
    let schedule = world
        .schedule("* * * * *", noop(), |row| {
            row.overlap = Overlap::TerminateOther;
            row.next_scheduled_at = Some(ms("2026-03-01T12:00:00Z"));
        })
        .await;
    let engine = world.engine().await;
    let ledger = world.decided(schedule.id, 3).await;
    let fates: Vec<_> = ledger.iter().map(standing).collect();
    let collapsed = (Verdict::Collapsed, Reason::Outage);
    assert_eq!(fates, [collapsed, collapsed, (Verdict::Started, Reason::CaughtUp)]);
    world.settled_run(schedule.id).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_waiting_fire_is_skipped_when_its_deadline_passes(database: TestDatabase) {
    let mut busy = busy(database, |row| {
        row.overlap = Overlap::BufferAll;
        row.start_deadline_ms = Some(30_000);
    })
    .await;
    let late = busy.minute(1).await;
    assert_eq!(standing(&late), (Verdict::Pending, Reason::Buffered));
    // The run that blocks the fire is still live.
    busy.clock.set(at("2026-03-01T12:01:31Z"));
    let (verdict, reason, _) = busy.verdict(late.id).await;
    assert_eq!((verdict, reason), (Verdict::Skipped, Reason::Deadline));
    let next = busy.minute(2).await;
    busy.first.answer(200);
    let arrival = busy.gate.arrival().await;
    assert_eq!(run_of(&arrival), next.id);
    arrival.answer(200);
    busy.world.settled(busy.schedule.id, 2).await;
    busy.engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_schedule_that_changed_lets_go_of_what_waits(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let mut gate = Gate::open().await;
    let cases = [
        ("enabled = false", Reason::Disabled),
        ("version = 2, fires_version = 2", Reason::StaleVersion),
        ("deleted_at = 1, enabled = false", Reason::Deleted),
    ];
    let mut schedules = Vec::new();
    for _ in cases {
        let buffer = |row: &mut schedule::Model| row.overlap = Overlap::BufferAll;
        schedules.push(world.schedule("* * * * *", gate.task(), buffer).await.id);
    }
    let engine = world.engine().await;
    clock.set(at("2026-03-01T12:00:00Z"));
    let mut in_the_way = Vec::new();
    for _ in &schedules {
        in_the_way.push(gate.arrival().await);
    }
    clock.set(at("2026-03-01T12:01:00Z"));
    for schedule in &schedules {
        world
            .until("a fire waits", async || {
                let fire = world.ledger(*schedule).await.into_iter().nth(1)?;
                fire.queue_position
            })
            .await;
    }
    for (schedule, (change, reason)) in schedules.iter().zip(cases) {
        let sql = format!("UPDATE schedule SET {change} WHERE id = $1");
        world.write(&sql, [(*schedule).into()]).await;
        world.signals.wake_planner();
        let ledger = world.decided(*schedule, 2).await;
        assert_eq!(standing(&ledger[1]), (Verdict::Skipped, reason), "{change}");
    }
    for arrival in in_the_way {
        arrival.answer(200);
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(!gate.has_more());
}

async fn what_waits_survives_a_crash(database: TestDatabase) {
    let mut busy = busy(database, |row| row.overlap = Overlap::BufferAll).await;
    let first = run_of(&busy.first);
    let (one, two) = (busy.minute(1).await, busy.minute(2).await);
    busy.engine.abandon();

    // The lease of the dead node expires.
    busy.clock.advance(Duration::from_secs(1));
    let engine = busy.world.engine().await;
    let again = busy.gate.arrival().await;
    assert_eq!((run_of(&again), again.attempt()), (first, 2));
    again.answer(200);
    for fire in [one, two] {
        let arrival = busy.gate.arrival().await;
        assert_eq!(run_of(&arrival), fire.id);
        arrival.answer(200);
        busy.world.run_is(fire.id, run::State::Succeeded).await;
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_fire_that_was_released_before_a_crash_is_handed_over_after_it(database: TestDatabase) {
    let world = World::new(database).await;
    let mut gate = Gate::open().await;
    let buffer = |row: &mut schedule::Model| row.overlap = Overlap::BufferAll;
    let schedule = forge::idle(&world, gate.task(), buffer).await;
    let now = world.clock.now();
    let released = forge::intent(&world, &schedule, |fire| fire.reason = Reason::Buffered).await;
    let waits = forge::intent(&world, &schedule, |fire| {
        fire.scheduled_at = now.into();
        fire.reason = Reason::Buffered;
        fire.claimed_by = None;
        fire.queue_position = Some(2);
    })
    .await;
    let engine = world.engine().await;
    let first = gate.arrival().await;
    assert_eq!(run_of(&first), released.id);
    assert!(!gate.has_more(), "a fire on its way counts as alive");
    first.answer(200);
    let second = gate.arrival().await;
    assert_eq!(run_of(&second), waits.id);
    second.answer(200);
    world.settled(schedule.id, 2).await;
    let ledger = world.ledger(schedule.id).await;
    let reasons: Vec<_> = ledger.iter().map(|fire| fire.reason).collect();
    assert_eq!(reasons, [Reason::Recovered, Reason::Buffered]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The late runs of a catch-up start one after the other.
async fn late_fires_that_become_due_wait_as_well(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:20:00Z")).await;
    let mut gate = Gate::open().await;
    let schedule = world
        .schedule("0 * * * *", gate.task(), |row| {
            row.next_scheduled_at = Some(ms("2026-03-01T10:00:00Z"));
            row.catch_up = CatchUp::All;
            row.catch_up_spacing_ms = 1_000;
            row.overlap = Overlap::BufferAll;
        })
        .await;
    let engine = world.engine().await;
    let first = gate.arrival().await;
    clock.set(at("2026-03-01T12:20:05Z"));
    let waiting = world
        .until("two fires wait", async || {
            let mut ledger = world.ledger(schedule.id).await;
            ledger.retain(|fire| fire.queue_position.is_some());
            (ledger.len() == 2).then_some(ledger)
        })
        .await;
    first.answer(200);
    for fire in waiting {
        let arrival = gate.arrival().await;
        assert_eq!(run_of(&arrival), fire.id);
        arrival.answer(200);
    }
    world.settled(schedule.id, 3).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_manual_run_that_settles_releases_what_waits_for_it(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let mut gate = Gate::open().await;
    let buffer = |row: &mut schedule::Model| row.overlap = Overlap::BufferOne;
    let schedule = world.schedule("* * * * *", gate.task(), buffer).await;
    let other = forge::node(&world).await;
    let manual = forge::orphan(&world, &schedule, |run| {
        run.trigger = run::Trigger::Manual;
        run.state = run::State::Retrying;
        run.node_id = Some(other);
        run.available_at = ms("2026-03-01T13:00:00Z");
    })
    .await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T12:00:00Z"));
    let waits = world
        .until("the fire waits", async || {
            let ledger = world.ledger(schedule.id).await;
            ledger.into_iter().find(|fire| fire.queue_position.is_some())
        })
        .await;
    let store = &world.database.store;
    let tx = store.begin().await.unwrap();
    let now = world.clock.now().into();
    assert!(store.cancel_if_live(&tx, manual.id, "ada", None, now).await.unwrap());
    store.commit(tx).await.unwrap();
    world.signals.wake_planner();
    let arrival = gate.arrival().await;
    assert_eq!(run_of(&arrival), waits.id);
    arrival.answer(200);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_storm_without_buffers_asks_nothing_about_them(mut database: TestDatabase) {
    let statements = Arc::new(Mutex::new(Vec::new()));
    let seen = statements.clone();
    database.store = database.store.clone().with_observer(move |sql| {
        seen.lock().unwrap().push(sql.to_owned());
    });
    let (world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let schedules = world.schedules(20, "0 12 * * *", noop()).await;
    let due = ms("2026-03-01T12:00:00Z").0;
    let sql = "UPDATE schedule SET next_scheduled_at = $1, next_fire_at = $1";
    world.write(sql, [due.into()]).await;
    let engine = world.engine().await;
    let mut rounds = engine.planner_reports();
    rounds.wait_for(|(count, _)| *count > 0).await.unwrap();
    statements.lock().unwrap().clear();
    clock.set(at("2026-03-01T12:00:00Z"));
    for schedule in schedules {
        world.settled_run(schedule).await;
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    let seen = statements.lock().unwrap();
    let about = |words: &[&str]| {
        seen.iter().filter(|sql| words.iter().all(|word| sql.contains(word))).count()
    };
    assert!(about(&["INSERT INTO fire"]) > 0);
    assert_eq!(about(&["queue_position", "GROUP BY fire.schedule_id"]), 0);
    assert_eq!(about(&["UPDATE fire", "queue_position = v.place"]), 0);
    assert_eq!(about(&["UPDATE fire", "'replaced'"]), 0);
    assert_eq!(about(&["UPDATE run", "cancel_requested_at ="]), 0);
    assert_eq!(about(&["concurrency_group", "v JOIN"]), 0);
}

async fn a_run_that_settles_during_the_planners_rest_releases_the_next_soon_after(
    database: TestDatabase,
) {
    let (mut world, clock) = World::at(database, at("2026-03-01T11:59:30Z")).await;
    let passing = clock.clone();
    world.database.store = world.database.store.clone().with_observer(move |sql| {
        if sql.contains("RECURSIVE waiting") {
            passing.pass(Duration::from_millis(100));
        }
    });
    let mut gate = Gate::open().await;
    let buffers = |row: &mut schedule::Model| row.overlap = Overlap::BufferAll;
    let schedule = world.schedule("* * * * *", gate.task(), buffers).await.id;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T12:00:00Z"));
    let first = gate.arrival().await;
    clock.set(at("2026-03-01T12:01:00Z"));
    world
        .until("the second fire waits", || async {
            let ledger = world.ledger(schedule).await;
            ledger.iter().any(|fire| fire.queue_position.is_some()).then_some(())
        })
        .await;
    first.answer(200);
    world.settled(schedule, 1).await;
    // Two seconds are far less than the five after which the planner runs in any case. A round that
    // began before the run had settled leaves the rest to a later round.
    clock.pass(Duration::from_secs(2));
    let mut waited = 0;
    let second = loop {
        match tokio::time::timeout(Duration::from_secs(1), gate.arrival()).await {
            Ok(second) => break second,
            Err(_) => clock.pass(Duration::from_millis(250)),
        }
        waited += 1;
        assert!(waited < 8, "the second fire is released before the next look in any case");
    };
    second.answer(200);
    world.settled(schedule, 2).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// A round decides about a limited number of schedules.
async fn a_fire_that_can_start_is_released_although_another_schedule_still_waits(
    database: TestDatabase,
) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.settings.batch = 1;
    // After an outage, the fire waits for the run, and does not stop it.
    let waits = forge::idle(&world, noop(), |row| row.overlap = Overlap::CancelOther).await;
    forge::orphan(&world, &waits, |_| {}).await;
    let earlier = ms("2026-03-01T11:00:00Z");
    forge::intent(&world, &waits, |fire| {
        (fire.scheduled_at, fire.last_scheduled_at, fire.due_at) = (earlier, earlier, earlier);
        (fire.claimed_by, fire.queue_position) = (None, Some(1));
        (fire.reason, fire.made_up_for) = (Reason::Buffered, Some(MadeUpFor::Outage));
    })
    .await;
    let free = forge::idle(&world, noop(), |row| row.overlap = Overlap::BufferOne).await;
    forge::intent(&world, &free, |fire| {
        (fire.claimed_by, fire.queue_position) = (None, Some(1));
        fire.reason = Reason::Buffered;
    })
    .await;
    let (_node, mut services) = world.by_hand().await;
    services.get_mut("planner").unwrap().once(clock.now()).await.unwrap();
    let told = async |schedule: Uuid| {
        let ledger = world.ledger(schedule).await;
        ledger.iter().map(standing).collect::<Vec<_>>()
    };
    assert_eq!(told(free.id).await, [(Verdict::Started, Reason::Buffered)]);
    let started = (Verdict::Started, Reason::OnTime);
    assert_eq!(told(waits.id).await, [(Verdict::Pending, Reason::Buffered), started]);
}
