//! Fires that were not claimed in time.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use carillon::store::{FaultPoint, Faults, StoreError};
use entity::{
    fire::{MadeUpFor, Reason, Verdict},
    schedule::{CatchUp, Overlap},
};
use futures::FutureExt;
use sea_orm::{DbErr, RuntimeErr};

use super::world::{World, at, ms, noop};
use crate::support::{TestDatabase, on_both};

on_both!(
    by_default_the_latest_missed_fire_runs_for_all,
    with_skip_no_missed_fire_runs,
    with_all_the_latest_of_them_run_spaced_up_to_the_limit,
    with_all_as_many_run_as_the_limit_says_however_many_that_are,
    a_fire_past_its_start_deadline_is_skipped,
    a_long_outage_is_one_row_with_its_count,
    an_outage_of_schedules_with_many_late_fires_each_is_claimed_in_portions,
    several_fires_within_the_grace_are_decided_by_catch_up_and_not_by_overlap,
    the_runs_of_catch_up_all_follow_one_another,
    a_fire_in_time_that_follows_caught_up_runs_stops_none_of_them,
    a_fire_claimed_within_the_grace_is_late_and_not_caught_up,
    a_late_fire_names_the_outage_of_the_scheduler,
);

/// An hourly schedule that was not claimed from 06:00 to 12:20.
async fn after_an_outage(
    database: TestDatabase,
    change: impl FnOnce(&mut entity::schedule::Model),
) -> (World, Vec<(i64, Verdict, Reason)>) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:20:00Z")).await;
    let schedule = world
        .schedule("0 * * * *", noop(), |row| {
            row.next_scheduled_at = Some(ms("2026-03-01T06:00:00Z"));
            change(row);
        })
        .await;
    let engine = world.engine().await;
    let ledger = world
        .until("the ledger has a final row for each of the seven hours", || async {
            let ledger = world.ledger(schedule.id).await;
            let decided = ledger.iter().all(|fire| fire.decided_at.is_some());
            (ledger.len() == 7 && decided).then_some(ledger)
        })
        .await;
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
    let hour = |fire: &entity::fire::Model| (fire.scheduled_at.0 / 3_600_000) % 24;
    let rows = ledger.iter().map(|fire| (hour(fire), fire.verdict, fire.reason)).collect();
    (world, rows)
}

async fn by_default_the_latest_missed_fire_runs_for_all(database: TestDatabase) {
    let (_world, rows) = after_an_outage(database, |_| {}).await;
    let collapsed = |hour| (hour, Verdict::Collapsed, Reason::Outage);
    let expected = (6..12).map(collapsed).chain([(12, Verdict::Started, Reason::CaughtUp)]);
    assert_eq!(rows, expected.collect::<Vec<_>>());
}

async fn with_skip_no_missed_fire_runs(database: TestDatabase) {
    let (_world, rows) = after_an_outage(database, |row| row.catch_up = CatchUp::Skip).await;
    let missed = |hour| (hour, Verdict::Missed, Reason::Outage);
    assert_eq!(rows, (6..=12).map(missed).collect::<Vec<_>>());
}

async fn with_all_the_latest_of_them_run_spaced_up_to_the_limit(database: TestDatabase) {
    let (_world, rows) = after_an_outage(database, |row| {
        row.catch_up = CatchUp::All;
        row.catch_up_max = 2;
        row.catch_up_window_ms = 4 * 3_600_000;
        row.overlap = Overlap::Allow;
    })
    .await;
    let expected = vec![
        (6, Verdict::Missed, Reason::CatchUpWindow),
        (7, Verdict::Missed, Reason::CatchUpWindow),
        (8, Verdict::Missed, Reason::CatchUpWindow),
        (9, Verdict::Missed, Reason::CatchUpLimit),
        (10, Verdict::Missed, Reason::CatchUpLimit),
        (11, Verdict::Started, Reason::CaughtUp),
        (12, Verdict::Started, Reason::CaughtUp),
    ];
    assert_eq!(rows, expected);
}

async fn with_all_as_many_run_as_the_limit_says_however_many_that_are(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:00:00.500Z")).await;
    let schedule = world
        .schedule("* * * * *", noop(), |row| {
            row.next_scheduled_at = Some(ms("2026-02-28T11:00:00Z"));
            row.grace_ms = 0;
            row.catch_up = CatchUp::All;
            row.catch_up_max = 1_200;
            row.catch_up_window_ms = 2 * 86_400_000;
            row.overlap = Overlap::Allow;
        })
        .await;
    let engine = world.engine().await;
    let ledger = world.decided(schedule.id, 1_201).await;
    assert_eq!((ledger[0].reason, ledger[0].count), (Reason::CatchUpLimit, 301));
    let caught_up = |fire: &entity::fire::Model| fire.reason == Reason::CaughtUp && fire.count == 1;
    let (newest, caught) = ledger[1..].split_last().unwrap();
    assert!(caught.iter().all(caught_up));
    // A fire half a second late is on time, so it was not missed.
    assert_eq!((newest.reason, newest.made_up_for), (Reason::OnTime, None));
    world.settled(schedule.id, 1_200).await;
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}

async fn a_fire_past_its_start_deadline_is_skipped(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:01:00Z")).await;
    let schedule = world
        .schedule("0 12 * * *", noop(), |row| {
            row.next_scheduled_at = Some(ms("2026-03-01T12:00:00Z"));
            row.start_deadline_ms = Some(30_000);
        })
        .await;
    let engine = world.engine().await;
    let fire = world
        .until("the fire is written", || async { world.ledger(schedule.id).await.pop() })
        .await;
    assert_eq!((fire.verdict, fire.reason), (Verdict::Skipped, Reason::Deadline));
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}

async fn a_long_outage_is_one_row_with_its_count(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:00:00.500Z")).await;
    let schedule = world
        .schedule("* * * * * *", noop(), |row| {
            row.next_scheduled_at = Some(ms("2025-03-01T12:00:00Z"));
            row.grace_ms = 0;
        })
        .await;
    let engine = world.engine().await;
    let ledger = world
        .until("the missed year is accounted for", || async {
            let ledger = world.ledger(schedule.id).await;
            let decided = ledger.iter().all(|fire| fire.decided_at.is_some());
            (!ledger.is_empty() && decided).then_some(ledger)
        })
        .await;
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
    let fates: Vec<_> = ledger.iter().map(|fire| (fire.reason, fire.count)).collect();
    let year = 365 * 86_400;
    let expected = [
        (Reason::CatchUpWindow, year - 86_400 + 1),
        (Reason::Outage, 86_400 - 1),
        // A fire half a second late is on time, even without any grace.
        (Reason::OnTime, 1),
    ];
    assert_eq!(fates, expected);
    for pair in ledger.windows(2) {
        assert_eq!(pair[0].last_scheduled_at.0 + 1_000, pair[1].scheduled_at.0);
    }
}

/// 3,020 rows and 3,000 runs: more than a single statement on SQLite has parameters for.
async fn an_outage_of_schedules_with_many_late_fires_each_is_claimed_in_portions(
    database: TestDatabase,
) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:00:00.500Z")).await;
    let mut schedules = Vec::new();
    for _ in 0..10 {
        let schedule = world.schedule("* * * * * *", noop(), |row| {
            row.next_scheduled_at = Some(ms("2026-03-01T11:50:00Z"));
            row.catch_up = CatchUp::All;
            row.catch_up_max = 300;
            row.overlap = Overlap::Allow;
        });
        schedules.push(schedule.await.id);
    }
    let engine = world.engine().await;
    for schedule in schedules {
        let ledger = world.decided(schedule, 301).await;
        let of = |verdict| ledger.iter().filter(move |fire| fire.verdict == verdict);
        assert_eq!(of(Verdict::Missed).map(|fire| fire.count).sum::<i64>(), 301);
        assert_eq!(of(Verdict::Started).count(), 300);
        world.settled(schedule, 300).await;
    }
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}

/// A schedule that fires every ten seconds and was not claimed for 67 s, with a grace of five
/// minutes.
async fn after_a_short_outage(
    database: TestDatabase,
    change: impl FnOnce(&mut entity::schedule::Model),
) -> (World, uuid::Uuid, carillon::engine::Engine) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:01:07Z")).await;
    let schedule = world
        .schedule("*/10 * * * * *", noop(), |row| {
            row.next_scheduled_at = Some(ms("2026-03-01T12:00:00Z"));
            change(row);
        })
        .await;
    let engine = world.engine().await;
    (world, schedule.id, engine)
}

async fn several_fires_within_the_grace_are_decided_by_catch_up_and_not_by_overlap(
    database: TestDatabase,
) {
    let (world, schedule, engine) = after_a_short_outage(database, |_| {}).await;
    let ledger = world.decided(schedule, 7).await;
    let fates: Vec<_> = ledger.iter().map(|fire| (fire.verdict, fire.reason)).collect();
    let mut expected = vec![(Verdict::Collapsed, Reason::Outage); 6];
    expected.push((Verdict::Started, Reason::CaughtUp));
    assert_eq!(fates, expected);
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}

async fn the_runs_of_catch_up_all_follow_one_another(database: TestDatabase) {
    let (world, schedule, engine) =
        after_a_short_outage(database, |row| row.catch_up = CatchUp::All).await;
    let runs = world.settled(schedule, 7).await;
    let ledger = world.ledger(schedule).await;
    for fire in &ledger {
        // The row's reason says that the fire was caught up on, although it also waited for the
        // previous run.
        assert_eq!((fire.verdict, fire.reason), (Verdict::Started, Reason::CaughtUp));
        let why = fire.detail.as_deref().unwrap_or_default();
        assert!(why.starts_with("no scheduler was running before 2026-"), "{why:?}");
    }
    let mut spans: Vec<_> = runs.iter().map(|run| (run.started_at, run.finished_at)).collect();
    spans.sort_unstable();
    for pair in spans.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "one began before the other had ended: {spans:?}");
    }
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}

/// Two fires were missed. The newest one, half a second old, waits behind them.
async fn a_fire_in_time_that_follows_caught_up_runs_stops_none_of_them(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00.500Z")).await;
    let mut schedules = Vec::new();
    for overlap in [Overlap::CancelOther, Overlap::TerminateOther] {
        let change = |row: &mut entity::schedule::Model| {
            row.next_scheduled_at = Some(ms("2026-03-01T10:00:00Z"));
            (row.catch_up, row.overlap) = (CatchUp::All, overlap);
        };
        schedules.push(world.schedule("0 * * * *", noop(), change).await.id);
    }
    let (_node, mut planner) = world.step("planner").await;
    for started in 1..=3 {
        // The first round starts the next run. The other rounds find that run live, so the rest
        // waits.
        for _ in 0..3 {
            planner.once(clock.now()).await.unwrap();
        }
        for schedule in &schedules {
            let runs = world.runs(*schedule).await;
            assert_eq!(runs.len(), started, "{runs:#?}");
            assert!(runs[started - 1].state.is_live(), "{runs:#?}");
            assert!(runs.iter().all(|run| run.cancel_requested_at.is_none()), "{runs:#?}");
        }
        let settle =
            "UPDATE run SET state = 'succeeded', finished_at = 1 WHERE finished_at IS NULL";
        world.write(settle, []).await;
    }
    for schedule in schedules {
        let ledger = world.ledger(schedule).await;
        let told: Vec<_> = ledger.iter().map(|fire| (fire.reason, fire.made_up_for)).collect();
        let caught_up = (Reason::CaughtUp, Some(MadeUpFor::Outage));
        assert_eq!(told, [caught_up, caught_up, (Reason::Buffered, Some(MadeUpFor::Follows))]);
    }
}

/// The fire is claimed within the grace and handed over after it. For the catch-up policy, it was
/// in time.
async fn a_fire_claimed_within_the_grace_is_late_and_not_caught_up(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:04:59Z")).await;
    let schedule = world
        .schedule("0 12 * * *", noop(), |row| {
            row.next_scheduled_at = Some(ms("2026-03-01T12:00:00Z"));
            row.catch_up = CatchUp::Skip;
            row.grace_ms = 300_000;
        })
        .await;
    let sound = world.database.store.clone();
    let is_armed = Arc::new(AtomicBool::new(false));
    let armed = is_armed.clone();
    let edge = move |edge| {
        let fails = edge == FaultPoint::Committed && armed.swap(false, Ordering::SeqCst);
        let lost = DbErr::Conn(RuntimeErr::Internal("the answer was lost".to_owned()));
        ready(if fails { Err(StoreError::Database(lost)) } else { Ok(()) }).boxed()
    };
    world.database.store = sound.clone().with_faults(Faults::new(edge, || None));
    let (_node, mut steps) = world.by_hand().await;
    let planner = steps.get_mut("planner").unwrap();
    is_armed.store(true, Ordering::SeqCst);
    planner.once(clock.now()).await.unwrap_err();
    world.database.store = sound;
    let grace_ends = at("2026-03-01T12:05:00Z");
    let claimed = world.ledger(schedule.id).await.remove(0);
    assert_eq!(claimed.verdict, Verdict::Pending);
    assert!(claimed.claimed_at.utc() <= grace_ends, "{claimed:#?}");

    clock.set(at("2026-03-01T12:05:30Z"));
    let fire = loop {
        planner.once(clock.now()).await.unwrap();
        let fire = world.ledger(schedule.id).await.remove(0);
        if fire.decided_at.is_some() {
            break fire;
        }
    };
    assert!(fire.decided_at.unwrap().utc() > grace_ends, "{fire:#?}");
    assert_eq!((fire.verdict, fire.reason), (Verdict::Started, Reason::Late));
    assert_eq!(world.runs(schedule.id).await.len(), 1);
}

async fn a_late_fire_names_the_outage_of_the_scheduler(database: TestDatabase) {
    let (world, schedule, engine) = after_a_short_outage(database, |_| {}).await;
    for fire in world.decided(schedule, 7).await {
        let why = fire.detail.unwrap_or_default();
        assert!(why.starts_with("no scheduler was running before 2026-"), "{why:?}");
    }
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}
