//! Fires that calendars suppress.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use carillon::engine::planning::accounting;
use entity::{
    Keys,
    calendar::Mode,
    fire::{self, Reason, Verdict},
    run,
    schedule::{self, CatchUp},
};
use sea_orm::EntityTrait;
use serde_json::json;

use super::world::{World, at, ms, noop};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_suppressed_fire_has_a_row_that_names_the_calendar,
    an_outage_ends_its_ranges_where_a_calendar_begins,
    the_latest_fire_that_is_allowed_runs_for_those_that_were_missed,
    suppressed_instants_in_a_pause_are_not_skipped_by_it,
    a_changed_calendar_is_obeyed_by_the_next_claim,
    what_came_before_a_change_goes_by_the_calendar_of_then,
    a_schedule_whose_calendar_is_gone_is_paused_with_the_reason,
    calendars_cost_a_claim_nothing_if_no_schedule_has_any,
    more_rows_than_one_statement_takes_are_written,
);

/// Friday, 6 March 2026.
const FRIDAY: &str = "2026-03-06T11:59:30Z";

fn weekends() -> serde_json::Value {
    json!({ "weekdays": ["sat", "sun"] })
}

fn fate(fire: &fire::Model) -> (Verdict, Reason, Option<&str>) {
    (fire.verdict, fire.reason, fire.detail.as_deref())
}

async fn a_suppressed_fire_has_a_row_that_names_the_calendar(database: TestDatabase) {
    let (world, clock) = World::at(database, at(FRIDAY)).await;
    let calendar = world.calendar("weekends", Mode::Exclude, weekends()).await;
    let schedule = world
        .schedule("0 12 * * *", noop(), |row| row.calendars = Some(Keys(vec![calendar])))
        .await;
    let engine = world.engine().await;
    for day in ["06", "07", "08", "09"] {
        clock.set(at(&format!("2026-03-{day}T12:00:00Z")));
        let rows = day.parse::<usize>().unwrap() - 5;
        world.decided(schedule.id, rows).await;
    }
    let ledger = world.decided(schedule.id, 4).await;
    let suppressed = (Verdict::Skipped, Reason::Calendar, Some("weekends"));
    let started = (Verdict::Started, Reason::OnTime, None);
    let fates: Vec<_> = ledger.iter().map(fate).collect();
    assert_eq!(fates, [started, suppressed, suppressed, started]);
    world.settled(schedule.id, 2).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn an_outage_ends_its_ranges_where_a_calendar_begins(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-10T12:00:30Z")).await;
    let calendar = world.calendar("weekends", Mode::Exclude, weekends()).await;
    let schedule = world
        .schedule("* * * * *", noop(), |row| {
            row.calendars = Some(Keys(vec![calendar]));
            row.next_scheduled_at = Some(ms("2026-03-05T12:00:00Z"));
            row.zone = "Europe/Berlin".to_owned();
            row.catch_up = CatchUp::Skip;
            row.catch_up_window_ms = 30 * 86_400_000;
            row.grace_ms = 0;
        })
        .await;
    let engine = world.engine().await;
    let ledger = world.decided(schedule.id, 3).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    let rows: Vec<_> = ledger
        .iter()
        .map(|fire| (fire.scheduled_at, fire.last_scheduled_at, fire.count, fire.reason))
        .collect();
    let minute = 60_000;
    // The calendar's weekend is that of Berlin, an hour ahead of UTC.
    let (saturday, monday) = (ms("2026-03-06T23:00:00Z"), ms("2026-03-08T23:00:00Z"));
    let before = |at: entity::Timestamp| entity::Timestamp(at.0 - minute);
    let count = |from: entity::Timestamp, to: entity::Timestamp| (to.0 - from.0) / minute;
    let (first, end) = (ms("2026-03-05T12:00:00Z"), ms("2026-03-10T12:01:00Z"));
    assert_eq!(
        rows,
        [
            (first, before(saturday), count(first, saturday), Reason::Outage),
            (saturday, before(monday), 2 * 24 * 60, Reason::Calendar),
            (monday, before(end), count(monday, end), Reason::Outage),
        ]
    );
}

async fn the_latest_fire_that_is_allowed_runs_for_those_that_were_missed(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-08T12:20:00Z")).await;
    let calendar = world.calendar("weekends", Mode::Exclude, weekends()).await;
    let schedule = world
        .schedule("0 */6 * * *", noop(), |row| {
            row.calendars = Some(Keys(vec![calendar]));
            row.next_scheduled_at = Some(ms("2026-03-06T12:00:00Z"));
            row.catch_up_window_ms = 5 * 86_400_000;
        })
        .await;
    let engine = world.engine().await;
    // The fires of Friday at 12:00 and 18:00, and the seven fires of the weekend.
    let ledger = world.decided(schedule.id, 9).await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.scheduled_at, ms("2026-03-06T18:00:00Z"));
    assert_eq!(ledger[0].verdict, Verdict::Collapsed);
    assert_eq!((ledger[1].verdict, ledger[1].reason), (Verdict::Started, Reason::CaughtUp));
    assert!(ledger[2..].iter().all(|fire| fire.reason == Reason::Calendar));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn suppressed_instants_in_a_pause_are_not_skipped_by_it(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-08T12:20:00Z")).await;
    let calendar = world.calendar("weekends", Mode::Exclude, weekends()).await;
    let schedule = world
        .schedule("0 12 * * *", noop(), |row| {
            row.calendars = Some(Keys(vec![calendar]));
            row.enabled = false;
            row.paused_at = Some(ms("2026-03-05T00:00:00Z"));
            row.next_scheduled_at = Some(ms("2026-03-05T12:00:00Z"));
        })
        .await;
    let store = &world.database.store;
    let tx = store.begin().await.unwrap();
    let timings = timetable::Cache::new(10);
    let (skip, now) = (timetable::misfire::CatchUp::Skip, world.clock.now());
    accounting::resume(store, &timings, &tx, schedule.id, None, Some(skip), now).await.unwrap();
    store.commit(tx).await.unwrap();
    let ledger = world.ledger(schedule.id).await;
    let reasons: Vec<_> = ledger.iter().map(|fire| fire.reason).collect();
    assert_eq!(reasons, [Reason::Paused, Reason::Paused, Reason::Calendar, Reason::Calendar]);
}

async fn a_changed_calendar_is_obeyed_by_the_next_claim(database: TestDatabase) {
    let (world, clock) = World::at(database, at(FRIDAY)).await;
    let calendar = world.calendar("days-off", Mode::Exclude, json!({})).await;
    let schedule =
        world.schedule("* * * * *", noop(), |row| row.calendars = Some(Keys(vec![calendar]))).await;
    let engine = world.engine().await;
    clock.set(at("2026-03-06T12:00:00Z"));
    world.settled(schedule.id, 1).await;
    let today = json!({ "dates": ["2026-03-06"] }).to_string();
    let cast = if world.database.store.dialect().is_postgres() { "$2::jsonb" } else { "$2" };
    let sql = format!("UPDATE calendar SET version = 2, definition = {cast} WHERE id = $1");
    world.write(&sql, [calendar.into(), today.into()]).await;
    clock.set(at("2026-03-06T12:01:00Z"));
    let ledger = world.decided(schedule.id, 2).await;
    assert_eq!(fate(&ledger[1]), (Verdict::Skipped, Reason::Calendar, Some("days-off")));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn what_came_before_a_change_goes_by_the_calendar_of_then(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(FRIDAY)).await;
    let today = json!({ "dates": ["2026-03-06"] });
    let calendar = world.calendar("days-off", Mode::Exclude, today).await;
    // The calendar suppressed the afternoon until 11:10, then nothing until 11:30, and since then
    // the whole day.
    let definition = if world.database.store.dialect().is_postgres() { "$3::jsonb" } else { "$3" };
    let sql = format!(
        "INSERT INTO calendar_version (calendar_id, version, mode, definition, ended_at) \
         VALUES ($1, $2, 'exclude', {definition}, $4)"
    );
    let afternoon = json!({ "windows": [{ "from": "11:00", "to": "18:00" }] });
    for (version, was, end) in
        [(1, afternoon, "2026-03-06T11:10:00Z"), (2, json!({}), "2026-03-06T11:30:00Z")]
    {
        let end = ms(end).0;
        let values = [calendar.into(), version.into(), was.to_string().into(), end.into()];
        world.write(&sql, values).await;
    }
    let sql = "UPDATE calendar SET version = 3, updated_at = $1";
    world.write(sql, [ms("2026-03-06T11:30:00Z").0.into()]).await;
    let schedule = world
        .schedule("* * * * *", noop(), |row| {
            row.calendars = Some(Keys(vec![calendar]));
            row.next_scheduled_at = Some(ms("2026-03-06T10:50:00Z"));
            row.grace_ms = 0;
        })
        .await;
    let engine = world.engine().await;
    let run = world.settled_run(schedule.id).await;
    // The changes of the calendar neither lose a fire nor add one: the latest fire that was allowed
    // runs in place of the older ones.
    assert_eq!(run.scheduled_at, ms("2026-03-06T11:29:00Z"));
    let ledger = world.ledger(schedule.id).await;
    let minutes = |verdict, reason| {
        let rows = ledger.iter().filter(|row| (row.verdict, row.reason) == (verdict, reason));
        rows.map(|row| row.count).sum::<i64>()
    };
    assert_eq!(minutes(Verdict::Collapsed, Reason::Outage), 10 + 19);
    assert_eq!(minutes(Verdict::Started, Reason::CaughtUp), 1);
    assert_eq!(minutes(Verdict::Skipped, Reason::Calendar), 10 + 30);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_schedule_whose_calendar_is_gone_is_paused_with_the_reason(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-06T12:00:00Z")).await;
    let gone = uuid::Uuid::now_v7();
    let broken = world.due_now(noop(), |row| row.calendars = Some(Keys(vec![gone]))).await;
    let witness = world.due_now(noop(), |_| {}).await;
    let engine = world.engine().await;
    world.settled_run(witness.id).await;
    let row = schedule::Entity::find_by_id(broken.id);
    let row = row.one(world.database.store.read()).await.unwrap().unwrap();
    assert!(!row.enabled);
    let reason = row.paused_reason.unwrap();
    assert!(reason.contains("calendars") && reason.contains(&gone.to_string()), "{reason}");
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn calendars_cost_a_claim_nothing_if_no_schedule_has_any(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at(FRIDAY)).await;
    let calendar = world.calendar("weekends", Mode::Exclude, weekends()).await;
    let asked = Arc::new(Mutex::new(0));
    let counted = asked.clone();
    world.database.store = world.database.store.clone().with_observer(move |sql| {
        if sql.contains("\"calendar\"") {
            *counted.lock().unwrap() += 1;
        }
    });
    let plain = world.schedule("0 12 * * *", noop(), |_| {}).await;
    let engine = world.engine().await;
    clock.set(at("2026-03-06T12:00:00Z"));
    world.settled_run(plain.id).await;
    assert_eq!(*asked.lock().unwrap(), 0);
    let dated = world
        .schedule("0 13 * * *", noop(), |row| row.calendars = Some(Keys(vec![calendar])))
        .await;
    clock.set(at("2026-03-06T13:00:00Z"));
    let run = world.settled_run(dated.id).await;
    assert_eq!(run.state, run::State::Succeeded);
    assert!(*asked.lock().unwrap() > 0, "the observer sees them");
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// A hundred schedules after an outage of 40 hours: a row for each instant.
async fn more_rows_than_one_statement_takes_are_written(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-06T12:20:00Z")).await;
    let ids = world.schedules(100, "0 * * * *", noop()).await;
    let sql = "UPDATE schedule SET next_scheduled_at = $1, next_fire_at = $1, catch_up = 'skip', \
        overlap = 'skip'";
    world.write(sql, [ms("2026-03-04T21:00:00Z").0.into()]).await;
    let engine = world.engine().await;
    let read = world.database.store.read();
    let rows = world
        .until("every instant has its row", || async {
            let rows = fire::Entity::find().all(read).await.unwrap();
            (rows.len() >= ids.len() * 40).then_some(rows)
        })
        .await;
    assert_eq!(rows.len(), ids.len() * 40);
    assert!(rows.iter().all(|fire| fire.verdict == Verdict::Missed));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
