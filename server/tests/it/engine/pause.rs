//! Pauses, and the fires that fall into them.

use std::time::Duration;

use carillon::{
    clock::ManualClock,
    engine::planning::{
        accounting::{self, PauseProgress},
        prepared::{PreparedTimetable, TimetableParts},
    },
};
use entity::{
    Keys,
    calendar::Mode,
    fire::{Reason, Verdict},
    run, schedule,
};
use sea_orm::{ConnectionTrait, EntityTrait};
use serde_json::json;
use timetable::misfire::CatchUp;

use super::world::{World, at, ms, noop};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_paused_schedule_does_not_fire,
    the_fires_of_a_pause_are_skipped_each_in_its_row,
    a_long_pause_is_one_row_with_its_count,
    the_latest_fire_of_a_pause_runs_if_it_is_asked_for,
    all_fires_of_a_pause_run_if_it_is_asked_for,
    a_pause_with_an_end_ends_by_itself,
    what_comes_after_the_end_of_a_pause_is_not_skipped_by_it,
    a_fire_at_the_very_end_of_a_pause_runs,
    a_resume_after_the_end_of_a_pause_makes_up_for_the_pause_alone,
    a_long_pause_under_many_windows_is_accounted_for_in_steps,
    a_resume_builds_its_timetable_in_the_transaction_only_if_a_calendar_has_changed,
    the_end_of_a_pause_of_a_deleted_schedule_is_nothing_that_falls_due,
);

/// An hourly schedule, paused since 06:30; it is 12:20.
pub(super) async fn paused(
    database: TestDatabase,
    expression: &str,
    change: impl FnOnce(&mut schedule::Model),
) -> (World, ManualClock, schedule::Model) {
    let (world, clock) = World::at(database, at("2026-03-01T12:20:00Z")).await;
    let schedule = world
        .schedule(expression, noop(), |row| {
            row.enabled = false;
            row.paused_reason = Some("maintenance".to_owned());
            row.paused_at = Some(ms("2026-03-01T06:30:00Z"));
            row.next_scheduled_at = Some(ms("2026-03-01T07:00:00Z"));
            change(row);
        })
        .await;
    (world, clock, schedule)
}

pub(super) async fn resume(world: &World, schedule: &schedule::Model, catch_up: CatchUp) {
    assert!(go_on(world, schedule, catch_up).await.is_done);
    world.signals.wake_planner();
}

/// Executes one transaction of a resume.
async fn go_on(world: &World, schedule: &schedule::Model, catch_up: CatchUp) -> PauseProgress {
    go_on_with(world, schedule, None, catch_up).await
}

async fn go_on_with(
    world: &World,
    schedule: &schedule::Model,
    prepared: Option<&PreparedTimetable>,
    catch_up: CatchUp,
) -> PauseProgress {
    let (store, id, now) = (&world.database.store, schedule.id, world.clock.now());
    let timings = timetable::Cache::new(10);
    let tx = store.begin().await.unwrap();
    let by_hand = Some(catch_up);
    let progress = accounting::resume(store, &timings, &tx, id, prepared, by_hand, now).await;
    store.commit(tx).await.unwrap();
    progress.unwrap()
}

/// A schedule's timetable, as it is now.
async fn prepared(world: &World, schedule: &schedule::Model) -> PreparedTimetable {
    let store = &world.database.store;
    let schedule = store.schedule_with_cursor(store.read(), schedule.id).await.unwrap().unwrap();
    let parts = TimetableParts::read(store.read(), &schedule).await.unwrap();
    parts.build(&timetable::Cache::new(10)).unwrap()
}

pub(super) async fn row(world: &World, schedule: &schedule::Model) -> schedule::Model {
    let row = schedule::Entity::find_by_id(schedule.id);
    row.one(world.database.store.read()).await.unwrap().unwrap()
}

/// Hour, verdict and reason of each row.
pub(super) async fn fates(
    world: &World,
    schedule: &schedule::Model,
) -> Vec<(i64, Verdict, Reason)> {
    let ledger = world.ledger(schedule.id).await;
    let hour = |at: i64| (at / 3_600_000) % 24;
    ledger.iter().map(|fire| (hour(fire.scheduled_at.0), fire.verdict, fire.reason)).collect()
}

async fn a_paused_schedule_does_not_fire(database: TestDatabase) {
    let (world, clock, schedule) = paused(database, "0 * * * *", |_| {}).await;
    let witness = world.schedule("0 * * * *", noop(), |_| {}).await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T13:00:00Z"));
    world.settled_run(witness.id).await;
    assert!(world.ledger(schedule.id).await.is_empty());
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn the_fires_of_a_pause_are_skipped_each_in_its_row(database: TestDatabase) {
    let (world, clock, schedule) = paused(database, "0 * * * *", |_| {}).await;
    let engine = world.engine().await;
    resume(&world, &schedule, CatchUp::Skip).await;
    let skipped: Vec<_> = (7..=12).map(|hour| (hour, Verdict::Skipped, Reason::Paused)).collect();
    assert_eq!(fates(&world, &schedule).await, skipped);
    clock.set(at("2026-03-01T13:00:00Z"));
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.scheduled_at, ms("2026-03-01T13:00:00Z"));
    assert_eq!(world.ledger(schedule.id).await.len(), 7);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_long_pause_is_one_row_with_its_count(database: TestDatabase) {
    let (world, _clock, schedule) = paused(database, "* * * * *", |_| {}).await;
    resume(&world, &schedule, CatchUp::Skip).await;
    let ledger = world.ledger(schedule.id).await;
    assert_eq!(ledger.len(), 1);
    let fire = &ledger[0];
    assert_eq!((fire.verdict, fire.reason), (Verdict::Skipped, Reason::Paused));
    assert_eq!(fire.scheduled_at, ms("2026-03-01T07:00:00Z"));
    assert_eq!(fire.last_scheduled_at, ms("2026-03-01T12:20:00Z"));
    assert_eq!(fire.count, 5 * 60 + 20 + 1);
}

async fn the_latest_fire_of_a_pause_runs_if_it_is_asked_for(database: TestDatabase) {
    let (world, _clock, schedule) = paused(database, "0 * * * *", |_| {}).await;
    let engine = world.engine().await;
    resume(&world, &schedule, CatchUp::Latest).await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.scheduled_at, ms("2026-03-01T12:00:00Z"));
    let collapsed = (7..12).map(|hour| (hour, Verdict::Collapsed, Reason::Paused));
    let expected: Vec<_> = collapsed.chain([(12, Verdict::Started, Reason::CaughtUp)]).collect();
    assert_eq!(fates(&world, &schedule).await, expected);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn all_fires_of_a_pause_run_if_it_is_asked_for(database: TestDatabase) {
    let allow = |row: &mut schedule::Model| row.overlap = schedule::Overlap::Allow;
    let (world, _clock, schedule) = paused(database, "0 * * * *", allow).await;
    let engine = world.engine().await;
    resume(&world, &schedule, CatchUp::All).await;
    let runs = world.settled(schedule.id, 6).await;
    assert!(runs.iter().all(|run| run.state == run::State::Succeeded));
    let ledger = world.ledger(schedule.id).await;
    assert_eq!(ledger.len(), 6);
    assert!(ledger.iter().all(|fire| fire.verdict == Verdict::Started));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_pause_with_an_end_ends_by_itself(database: TestDatabase) {
    let (world, clock, schedule) = paused(database, "0 * * * *", |row| {
        row.paused_until = Some(ms("2026-03-01T14:30:00Z"));
    })
    .await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T14:30:00Z"));
    let row = world
        .until("the schedule is enabled", async || {
            let row = schedule::Entity::find_by_id(schedule.id);
            row.one(world.database.store.read()).await.unwrap().filter(|row| row.enabled)
        })
        .await;
    assert_eq!((row.paused_until, row.paused_reason), (None, None));
    let skipped: Vec<_> = (7..=14).map(|hour| (hour, Verdict::Skipped, Reason::Paused)).collect();
    assert_eq!(fates(&world, &schedule).await, skipped);
    clock.set(at("2026-03-01T15:00:00Z"));
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.scheduled_at, ms("2026-03-01T15:00:00Z"));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The only node was down from before the end of the pause until hours after that.
async fn what_comes_after_the_end_of_a_pause_is_not_skipped_by_it(database: TestDatabase) {
    let (world, _clock, schedule) = paused(database, "0 * * * *", |row| {
        row.paused_until = Some(ms("2026-03-01T08:30:00Z"));
    })
    .await;
    let engine = world.engine().await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.scheduled_at, ms("2026-03-01T12:00:00Z"));
    let mut expected =
        vec![(7, Verdict::Skipped, Reason::Paused), (8, Verdict::Skipped, Reason::Paused)];
    expected.extend((9..12).map(|hour| (hour, Verdict::Collapsed, Reason::Outage)));
    expected.push((12, Verdict::Started, Reason::CaughtUp));
    assert_eq!(fates(&world, &schedule).await, expected);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_fire_at_the_very_end_of_a_pause_runs(database: TestDatabase) {
    let (world, clock, schedule) = paused(database, "0 * * * *", |row| {
        row.paused_until = Some(ms("2026-03-01T14:00:00Z"));
    })
    .await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T14:00:00Z"));
    world.settled_run(schedule.id).await;
    let skipped = (7..14).map(|hour| (hour, Verdict::Skipped, Reason::Paused));
    let expected: Vec<_> = skipped.chain([(14, Verdict::Started, Reason::OnTime)]).collect();
    assert_eq!(fates(&world, &schedule).await, expected);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// An operator ends the pause before the engine does. The operator decides which runs of the pause
/// start, and the schedule's policy decides about the time after the pause.
async fn a_resume_after_the_end_of_a_pause_makes_up_for_the_pause_alone(database: TestDatabase) {
    let (world, _clock, schedule) = paused(database, "0 * * * *", |row| {
        row.paused_until = Some(ms("2026-03-01T09:00:00Z"));
        row.overlap = schedule::Overlap::Allow;
    })
    .await;
    resume(&world, &schedule, CatchUp::All).await;
    let promised = (7..9).map(|hour| (hour, Verdict::Pending, Reason::AwaitingHandoff));
    assert_eq!(fates(&world, &schedule).await, promised.collect::<Vec<_>>());
    let after = row(&world, &schedule).await;
    assert_eq!((after.enabled, after.next_fire_at), (true, Some(ms("2026-03-01T09:00:00Z"))));
    let engine = world.engine().await;
    world.settled(schedule.id, 3).await;
    let mut expected: Vec<_> =
        (7..9).map(|hour| (hour, Verdict::Started, Reason::CaughtUp)).collect();
    expected.extend((9..12).map(|hour| (hour, Verdict::Collapsed, Reason::Outage)));
    expected.push((12, Verdict::Started, Reason::CaughtUp));
    assert_eq!(fates(&world, &schedule).await, expected);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// Twelve days of a schedule with more than two thousand rows, in two pauses: an operator ends the
/// first one, and the second one ends by itself.
async fn a_long_pause_under_many_windows_is_accounted_for_in_steps(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-13T12:20:30Z")).await;
    let calendar = world.calendar_of_many_windows().await;
    let plant = |row: &mut schedule::Model| {
        row.calendars = Some(Keys(vec![calendar]));
        row.enabled = false;
        row.paused_at = Some(ms("2026-03-01T00:00:00Z"));
        row.next_scheduled_at = Some(ms("2026-03-01T00:00:00Z"));
    };
    let by_hand = world.schedule("* * * * *", noop(), plant).await;
    let mut transactions = 0;
    loop {
        let progress = go_on(&world, &by_hand, CatchUp::Latest).await;
        transactions += 1;
        assert!(progress.rows < 2_500, "{progress:?}");
        assert_eq!(row(&world, &by_hand).await.enabled, progress.is_done);
        if progress.is_done {
            break;
        }
    }
    assert!(transactions > 1);
    let by_itself = world
        .schedule("* * * * *", noop(), |row| {
            plant(row);
            row.paused_until = Some(ms("2026-03-13T12:20:30Z"));
        })
        .await;
    let engine = world.engine().await;
    world
        .until("both pauses have ended", async || {
            let is_over = row(&world, &by_itself).await.enabled;
            let has_run = !world.runs(by_hand.id).await.is_empty();
            (is_over && has_run).then_some(())
        })
        .await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    let minute = 60_000;
    for schedule in [&by_hand, &by_itself] {
        let ledger = world.ledger(schedule.id).await;
        assert!(ledger.len() > 2_400, "{} rows", ledger.len());
        let mut next = ms("2026-03-01T00:00:00Z").0;
        for fire in &ledger {
            let last = fire.scheduled_at.0 + (fire.count - 1) * minute;
            assert_eq!((fire.scheduled_at.0, fire.last_scheduled_at.0), (next, last));
            next = last + minute;
        }
        assert_eq!(next, ms("2026-03-13T12:21:00Z").0);
    }
    let started = world.ledger(by_hand.id).await.into_iter();
    let started: Vec<_> = started.filter(|fire| fire.verdict == Verdict::Started).collect();
    assert_eq!(started.len(), 1, "{started:#?}");
}

async fn a_resume_builds_its_timetable_in_the_transaction_only_if_a_calendar_has_changed(
    database: TestDatabase,
) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:20:00Z")).await;
    let calendar = world.calendar("days-off", Mode::Exclude, json!({})).await;
    let plant = |row: &mut schedule::Model| {
        row.calendars = Some(Keys(vec![calendar]));
        row.enabled = false;
        row.paused_at = Some(ms("2026-03-01T06:30:00Z"));
        row.next_scheduled_at = Some(ms("2026-03-01T07:00:00Z"));
    };
    let first = world.schedule("0 * * * *", noop(), plant).await;
    let second = world.schedule("0 * * * *", noop(), plant).await;
    let (of_first, of_second) = (prepared(&world, &first).await, prepared(&world, &second).await);

    // The version stays the same, so a resume that read the calendar again would be noticed.
    let today = json!({ "dates": ["2026-03-01"] }).to_string();
    let cast = if world.database.store.dialect().is_postgres() { "$2::jsonb" } else { "$2" };
    let sql = format!("UPDATE calendar SET definition = {cast} WHERE id = $1");
    world.write(&sql, [calendar.into(), today.into()]).await;
    assert!(go_on_with(&world, &first, Some(&of_first), CatchUp::Skip).await.is_done);
    let hours = |reason| (7..=12).map(|hour| (hour, Verdict::Skipped, reason)).collect::<Vec<_>>();
    assert_eq!(fates(&world, &first).await, hours(Reason::Paused));

    world.write("UPDATE calendar SET version = 2 WHERE id = $1", [calendar.into()]).await;
    assert!(go_on_with(&world, &second, Some(&of_second), CatchUp::Skip).await.is_done);
    assert_eq!(fates(&world, &second).await, hours(Reason::Calendar));
}

async fn the_end_of_a_pause_of_a_deleted_schedule_is_nothing_that_falls_due(
    database: TestDatabase,
) {
    let (world, _clock, schedule) = paused(database, "0 * * * *", |row| {
        row.paused_until = Some(ms("2026-03-01T13:00:00Z"));
    })
    .await;
    let store = &world.database.store;
    assert_eq!(store.next_due_at(ms("2026-03-01T12:30:00Z")).await.unwrap(), schedule.paused_until);
    let delete = "UPDATE schedule SET deleted_at = $1 WHERE id = $2";
    world.write(delete, [ms("2026-03-01T12:20:00Z").0.into(), schedule.id.into()]).await;
    assert_eq!(store.next_due_at(ms("2026-03-01T12:30:00Z")).await.unwrap(), None);
}

/// The planner has seen that the pause is over. Then an operator sets a later end. Only on
/// PostgreSQL can the test act between the planner's read and its lock: SQLite's single writer
/// admits nothing in between, and a test that held the writer could block an earlier round for
/// good.
#[tokio::test]
async fn a_pause_that_is_extended_while_it_ends_continues() {
    let database = TestDatabase::postgres().await;
    let (mut world, clock, schedule) = paused(database, "0 * * * *", |row| {
        row.paused_until = Some(ms("2026-03-01T12:30:00Z"));
    })
    .await;
    let (seen, mut looked) = tokio::sync::mpsc::unbounded_channel();
    let store = world.database.store.clone();
    world.database.store = store.clone().with_observer(move |sql| {
        if sql.contains("ORDER BY paused_until") {
            let _ = seen.send(sql.contains("SKIP LOCKED"));
        }
    });
    let engine = world.engine().await;
    let mut rounds = engine.planner_reports();
    rounds.wait_for(|(count, _)| *count > 0).await.unwrap();

    // Blocks the planner where it is about to end the expired pause.
    let tx = store.begin().await.unwrap();
    let renew = "UPDATE schedule SET paused_until = $1 WHERE id = $2";
    let values = [ms("2026-03-01T18:00:00Z").0.into(), schedule.id.into()];
    tx.execute_raw(store.dialect().statement(renew, values)).await.unwrap();
    clock.set(at("2026-03-01T12:30:00Z"));
    let passes = async {
        while !looked.recv().await.unwrap() {}
        store.commit(tx).await.unwrap();
        // When the planner begins its next round, the previous one is over.
        world.signals.wake_planner();
        while looked.recv().await.unwrap() {}
    };
    tokio::time::timeout(Duration::from_secs(60), passes).await.unwrap();

    assert!(world.ledger(schedule.id).await.is_empty());
    let row = schedule::Entity::find_by_id(schedule.id).one(store.read()).await.unwrap().unwrap();
    assert_eq!((row.enabled, row.paused_until), (false, Some(ms("2026-03-01T18:00:00Z"))));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
