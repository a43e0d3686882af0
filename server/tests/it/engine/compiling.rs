//! Calendars are compiled before the transactions that need them: on SQLite nothing else can be
//! written while a transaction is open.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use carillon::store::{FaultPoint, Faults, Store};
use entity::{
    Keys,
    calendar::Mode,
    fire::{Reason, Verdict},
};
use futures::FutureExt;
use sea_orm::ConnectionTrait;
use serde_json::json;
use uuid::Uuid;

use super::world::{World, at, ms, noop};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_claim_compiles_calendars_before_its_transaction,
    a_claim_obeys_a_calendar_that_changes_while_it_compiles_it,
    the_end_of_a_pause_compiles_calendars_before_its_transaction,
);

type Statements = Arc<Mutex<Vec<String>>>;

/// Notes the statements of the engine from now on.
fn listen(world: &mut World) -> Statements {
    let said = Statements::default();
    let noted = said.clone();
    let note = move |sql: &str| noted.lock().unwrap().push(sql.to_owned());
    world.database.store = world.database.store.clone().with_observer(note);
    said
}

fn take(said: &Statements) -> Vec<String> {
    said.lock().unwrap().drain(..).collect()
}

/// Whether a statement reads what a calendar, or an earlier version of it, consists of.
fn reads_entries(sql: &str) -> bool {
    sql.contains("FROM \"calendar") && sql.contains("\"definition\"")
}

/// Whether a statement locks the schedules again that a claim had locked before.
fn locks_again(sql: &str) -> bool {
    sql.contains("v.cursor_at")
}

fn writes_fires(sql: &str) -> bool {
    sql.contains("INSERT INTO fire")
}

/// The places of the last such statements.
fn last<const N: usize>(said: &[String], kinds: [fn(&str) -> bool; N]) -> [Option<usize>; N] {
    kinds.map(|is_it| said.iter().rposition(|sql| is_it(sql)))
}

async fn a_claim_compiles_calendars_before_its_transaction(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-06T11:59:30Z")).await;
    let calendar = world.calendar("days-off", Mode::Exclude, json!({})).await;
    // Until 11:50 the calendar suppressed the whole Friday.
    let definition = if world.database.store.dialect().is_postgres() { "$2::jsonb" } else { "$2" };
    let sql = format!(
        "INSERT INTO calendar_version (calendar_id, version, mode, definition, ended_at) \
         VALUES ($1, 1, 'exclude', {definition}, $3)"
    );
    let (was, end) = (json!({ "weekdays": ["fri"] }).to_string(), ms("2026-03-06T11:50:00Z").0);
    world.write(&sql, [calendar.into(), was.into(), end.into()]).await;
    let sql = "UPDATE calendar SET version = 2, updated_at = $1 WHERE id = $2";
    world.write(sql, [end.into(), calendar.into()]).await;
    let schedule = world
        .schedule("* * * * *", noop(), |row| {
            row.calendars = Some(Keys(vec![calendar]));
            row.next_scheduled_at = Some(ms("2026-03-06T11:45:00Z"));
        })
        .await;
    let said = listen(&mut world);
    let (_node, mut planner) = world.step("planner").await;
    take(&said);

    planner.once(clock.now()).await.unwrap();
    let first = take(&said);
    let [read, locked, written] = last(&first, [reads_entries, locks_again, writes_fires]);
    assert!(read.is_some() && read < locked && locked < written, "{first:#?}");
    let ledger = world.ledger(schedule.id).await;
    let suppressed = ledger.iter().filter(|fire| fire.reason == Reason::Calendar);
    assert_eq!(suppressed.map(|fire| fire.count).sum::<i64>(), 5, "11:45 to 11:49: {ledger:#?}");
    take(&said);

    // Nothing has changed since, so one transaction is enough.
    clock.set(at("2026-03-06T12:00:00Z"));
    planner.once(clock.now()).await.unwrap();
    let second = take(&said);
    let [read, locked, written] = last(&second, [reads_entries, locks_again, writes_fires]);
    assert!(read.is_none() && locked.is_none() && written.is_some(), "{second:#?}");
}

async fn close_today(store: Store, calendar: Uuid) {
    let today = json!({ "dates": ["2026-03-06"] }).to_string();
    let cast = if store.dialect().is_postgres() { "$2::jsonb" } else { "$2" };
    let sql = format!("UPDATE calendar SET version = 2, definition = {cast} WHERE id = $1");
    let tx = store.begin().await.unwrap();
    let values = [calendar.into(), today.into()];
    tx.execute_raw(store.dialect().statement(sql, values)).await.unwrap();
    store.commit(tx).await.unwrap();
}

async fn a_claim_obeys_a_calendar_that_changes_while_it_compiles_it(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-06T11:59:30Z")).await;
    let calendar = world.calendar("days-off", Mode::Exclude, json!({})).await;
    let schedule =
        world.schedule("* * * * *", noop(), |row| row.calendars = Some(Keys(vec![calendar]))).await;
    let sound = world.database.store.clone();
    let has_read = Arc::new(AtomicBool::new(false));
    let noted = has_read.clone();
    let observed = sound.clone().with_observer(move |sql| {
        if reads_entries(sql) {
            noted.store(true, Ordering::SeqCst);
        }
    });
    let is_armed = Arc::new(AtomicBool::new(true));
    let armed = is_armed.clone();
    let edge = move |edge| {
        let is_it = edge == FaultPoint::Begin && has_read.load(Ordering::SeqCst);
        let store = (is_it && armed.swap(false, Ordering::SeqCst)).then(|| sound.clone());
        async move {
            if let Some(store) = store {
                close_today(store, calendar).await;
            }
            Ok(())
        }
        .boxed()
    };
    world.database.store = observed.with_faults(Faults::new(edge, || None));
    let (_node, mut planner) = world.step("planner").await;
    clock.set(at("2026-03-06T12:00:00Z"));
    planner.once(clock.now()).await.unwrap();
    assert!(!is_armed.load(Ordering::SeqCst), "the claim began its transaction again");
    let ledger = world.ledger(schedule.id).await;
    assert_eq!(ledger.len(), 1, "{ledger:#?}");
    assert_eq!((ledger[0].verdict, ledger[0].reason), (Verdict::Skipped, Reason::Calendar));
}

async fn the_end_of_a_pause_compiles_calendars_before_its_transaction(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-06T12:20:00Z")).await;
    let weekends = json!({ "weekdays": ["sat", "sun"] });
    let calendar = world.calendar("weekends", Mode::Exclude, weekends).await;
    let schedule = world
        .schedule("0 * * * *", noop(), |row| {
            row.calendars = Some(Keys(vec![calendar]));
            row.enabled = false;
            row.paused_at = Some(ms("2026-03-06T06:30:00Z"));
            row.paused_until = Some(ms("2026-03-06T12:10:00Z"));
            row.next_scheduled_at = Some(ms("2026-03-06T07:00:00Z"));
        })
        .await;
    let said = listen(&mut world);
    let (_node, mut planner) = world.step("planner").await;
    take(&said);
    planner.once(clock.now()).await.unwrap();
    let said = take(&said);
    let locks = |sql: &str| sql.contains("ORDER BY paused_until");
    let [read, locked, written] = last(&said, [reads_entries, locks, writes_fires]);
    assert!(read.is_some() && read < locked && locked < written, "{said:#?}");
    let ledger = world.ledger(schedule.id).await;
    assert_eq!(ledger.len(), 6, "{ledger:#?}");
    assert!(ledger.iter().all(|fire| fire.reason == Reason::Paused), "{ledger:#?}");
}
