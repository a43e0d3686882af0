//! Calls to an external watchdog, at a real receiver.

use std::{net::TcpListener, time::Duration};

use carillon::{
    clock::Clock,
    commands::{Call, NewSecret},
    engine::StepwiseService,
    store::reads::feed::end_of_runs,
};
use entity::{alert_cursor, ping, run, schedule};
use sea_orm::EntityTrait;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    inbox::Inbox,
    watch::{Watch, editor},
};
use crate::{
    engine::world::{World, noop},
    support::{TestDatabase, on_both},
};

on_both!(
    a_watchdog_is_called_at_start_success_and_failure,
    a_watchdog_that_is_away_hears_the_newest_and_holds_up_nobody,
    a_watchdog_that_is_away_is_called_ever_less_often_whatever_happens,
    a_namespace_whose_watchdogs_are_silent_holds_up_no_other,
    events_beyond_one_look_are_read_by_the_next_at_once,
    a_run_that_ended_before_the_first_look_is_reported,
    an_address_names_a_secret_and_nothing_says_it,
    a_running_engine_calls_by_itself,
    a_change_of_a_run_is_not_left_to_the_next_regular_look,
);

fn whom(inbox: &Inbox) -> Value {
    let at = |path: &str| format!("http://{}/{path}", inbox.address);
    json!({ "success": at("ok?job=1"), "start": at("start"), "failure": at("fail") })
}

/// Executes rounds until the receiver has this many calls: another transaction of the server may
/// briefly keep the feed from being complete.
async fn calls(
    pings: &mut StepwiseService,
    watch: &Watch,
    inbox: &Inbox,
    count: usize,
) -> Vec<String> {
    let looking = async {
        while inbox.arrived().len() < count {
            pings.once(watch.clock.now()).await.unwrap();
        }
    };
    let looked = tokio::time::timeout(Duration::from_secs(60), looking).await;
    looked.unwrap_or_else(|_| panic!("looked in vain for {count} calls"));
    inbox.places(count).await
}

async fn rows(watch: &Watch) -> Vec<ping::Model> {
    ping::Entity::find().all(watch.world.database.store.read()).await.unwrap()
}

async fn follows(watch: &Watch) -> bool {
    let cursors = alert_cursor::Entity::find().all(watch.world.database.store.read()).await;
    !cursors.unwrap().is_empty()
}

fn runs_on(_: &mut entity::fire::Model, run: &mut run::Model) {
    (run.state, run.finished_at) = (run::State::Running, None);
}

async fn a_watchdog_is_called_at_start_success_and_failure(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let node = watch.node("a").await;
    let mut pings = node.stepwise.pings();
    let quiet = watch.schedule(|_| {}).await;
    // As long as no schedule has a URL, the service does not read the feed.
    pings.once(watch.clock.now()).await.unwrap();
    assert!(!follows(&watch).await);
    let called = watch.schedule(|row| row.ping = Some(whom(&inbox))).await;
    pings.once(watch.clock.now()).await.unwrap();
    assert!(follows(&watch).await);

    let run = watch.ends_as(&called, runs_on).await;
    watch.ends(&quiet, run::State::Succeeded).await;
    assert_eq!(calls(&mut pings, &watch, &inbox, 1).await, ["/start"]);
    let sql = "UPDATE run SET state = 'succeeded', finished_at = started_at + 1000 WHERE id = $1";
    watch.world.write(sql, [run.into()]).await;
    watch.stamp(&[run]).await;
    assert_eq!(calls(&mut pings, &watch, &inbox, 2).await[1], "/ok?job=1");
    assert_eq!(inbox.arrived()[1].header("idempotency-key"), format!("{run}-success"));
    watch.ends(&called, run::State::TimedOut).await;
    assert_eq!(calls(&mut pings, &watch, &inbox, 3).await[2], "/fail");
    // A call is made only once, however many rounds follow. A cancelled run causes no call.
    watch.ends(&called, run::State::Cancelled).await;
    for _ in 0..3 {
        watch.pass(5);
        pings.once(watch.clock.now()).await.unwrap();
    }
    assert_eq!(inbox.arrived().len(), 3);
    let row = rows(&watch).await.remove(0);
    assert_eq!((row.event, row.attempts, row.error), (ping::Event::Failure, 1, None));
    assert_eq!((row.next_attempt_at, row.sent_at.is_some()), (None, true));

    // No schedule has a URL any more, so the service stops reading the feed.
    watch.world.write("UPDATE schedule SET ping = NULL", []).await;
    pings.once(watch.clock.now()).await.unwrap();
    assert!(!follows(&watch).await);
}

/// Before the first schedule has a URL, the service does not read the feed. A run that ends right
/// after that must be reported all the same.
async fn a_run_that_ended_before_the_first_look_is_reported(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let node = watch.node("a").await;
    let mut pings = node.stepwise.pings();
    let quiet = watch.schedule(|_| {}).await;
    watch.ends(&quiet, run::State::Succeeded).await;
    let before = watch.schedule(|_| {}).await;
    watch.ends(&before, run::State::Failed).await;
    watch.pass(10);
    let tells = whom(&inbox).to_string();
    let edit = "UPDATE schedule SET ping = $1, updated_at = $2 WHERE id = $3";
    let ping = if watch.world.database.store.dialect().is_postgres() {
        edit.replace("$1", "CAST($1 AS jsonb)")
    } else {
        edit.to_owned()
    };
    let values = [tells.into(), watch.now().0.into(), before.id.into()];
    watch.world.write(&ping, values).await;
    watch.pass(10);
    let called = watch.schedule(|row| row.ping = Some(whom(&inbox))).await;
    watch.ends(&called, run::State::Succeeded).await;
    assert!(!follows(&watch).await);
    // Waits for the feed to reach this run: transactions in other databases of this PostgreSQL
    // delay it.
    let ended = watch.world.runs(before.id).await[0].changed;
    while end_of_runs(&watch.world.database.store).await.unwrap().changed < ended {
        Clock::system().sleep(Duration::from_millis(5)).await;
    }
    // Runs that ended before their schedule got its URL are not reported.
    assert_eq!(calls(&mut pings, &watch, &inbox, 1).await, ["/ok?job=1"]);
    for _ in 0..3 {
        watch.pass(5);
        pings.once(watch.clock.now()).await.unwrap();
    }
    assert_eq!(inbox.arrived().len(), 1);
}

async fn a_watchdog_that_is_away_hears_the_newest_and_holds_up_nobody(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let (away, there) = (Inbox::open().await, Inbox::open().await);
    away.answers(503);
    let node = watch.node("a").await;
    let mut pings = node.stepwise.pings();
    let first = watch.schedule(|row| row.ping = Some(whom(&away))).await;
    let second = watch.schedule(|row| row.ping = Some(whom(&there))).await;
    pings.once(watch.clock.now()).await.unwrap();
    watch.ends(&first, run::State::Failed).await;
    watch.ends(&second, run::State::Succeeded).await;
    calls(&mut pings, &watch, &away, 1).await;
    assert_eq!(calls(&mut pings, &watch, &there, 1).await, ["/ok?job=1"]);
    let of = async |schedule: &schedule::Model| {
        let row = ping::Entity::find_by_id(schedule.id);
        row.one(watch.world.database.store.read()).await.unwrap().unwrap()
    };
    let row = of(&first).await;
    let error = row.error.unwrap();
    assert!(error.contains("answered 503") && !error.contains("fail"), "{error}");
    assert!(row.next_attempt_at.unwrap() > watch.now() && row.sent_at.is_none());
    pings.once(watch.clock.now()).await.unwrap();
    assert_eq!(away.arrived().len(), 1, "not before its time");

    // Later events replace the pending call.
    let newest = watch.ends(&first, run::State::Succeeded).await;
    let replaced = async {
        while of(&first).await.run_id != newest {
            pings.once(watch.clock.now()).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), replaced).await.expect("the newest");
    away.answers(200);
    watch.pass(60);
    let before = away.arrived().len();
    let heard = calls(&mut pings, &watch, &away, before + 1).await;
    assert_eq!(heard.last().unwrap(), "/ok?job=1");
    watch.pass(600);
    pings.once(watch.clock.now()).await.unwrap();
    assert_eq!(away.arrived().len(), before + 1);

    // A receiver would take an old event for a current one, so events of an hour ago are not
    // reported.
    away.answers(503);
    watch.ends(&first, run::State::Succeeded).await;
    calls(&mut pings, &watch, &away, before + 2).await;
    watch.pass(3_601);
    away.answers(200);
    pings.once(watch.clock.now()).await.unwrap();
    assert_eq!(away.arrived().len(), before + 2);
    assert_eq!(of(&first).await.next_attempt_at, None);
}

/// Executes rounds until the pending call is about that run.
async fn notes(pings: &mut StepwiseService, watch: &Watch, run: Uuid) {
    let noting = async {
        while rows(watch).await.iter().all(|row| row.run_id != run) {
            pings.once(watch.clock.now()).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), noting).await.expect("the newest");
}

async fn a_watchdog_that_is_away_is_called_ever_less_often_whatever_happens(
    database: TestDatabase,
) {
    let mut watch = Watch::begin(database).await;
    let away = Inbox::open().await;
    away.answers(503);
    let node = watch.node("a").await;
    let mut pings = node.stepwise.pings();
    let schedule = watch.schedule(|row| row.ping = Some(whom(&away))).await;
    pings.once(watch.clock.now()).await.unwrap();
    let mut heard = Vec::new();
    for _ in 0..8 {
        // Each minute a run ends, which is an event.
        let run = watch.ends(&schedule, run::State::Succeeded).await;
        notes(&mut pings, &watch, run).await;
        heard.push(away.arrived().len());
    }
    // The server tries again after 10, 20, 40, 80 and 160 seconds, although an event comes each
    // minute.
    assert_eq!(heard, [1, 2, 3, 4, 4, 5, 5, 5]);
    let row = rows(&watch).await.remove(0);
    assert!((row.failures, row.attempts) == (5, 0) && row.error.is_some(), "{row:?}");
    away.answers(200);
    watch.pass(160);
    calls(&mut pings, &watch, &away, 6).await;
    let row = rows(&watch).await.remove(0);
    assert_eq!((row.failures, row.error, row.next_attempt_at), (0, None, None));
}

async fn a_namespace_whose_watchdogs_are_silent_holds_up_no_other(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}/", silent.local_addr().unwrap());
    let there = Inbox::open().await;
    let node = watch.node("a").await;
    let mut pings = node.stepwise.pings();
    let first = watch.schedule(|row| row.ping = Some(whom(&there))).await;
    pings.once(watch.clock.now()).await.unwrap();
    let mut schedules = Vec::new();
    for _ in 0..40 {
        schedules
            .push(watch.schedule(|row| row.ping = Some(json!({ "success": silent }))).await.id);
    }
    let other = Uuid::now_v7();
    let sql = "INSERT INTO namespace (id, name, created_at) VALUES ($1, 'other', 0)";
    watch.world.write(sql, [other.into()]).await;
    let sql = "UPDATE schedule SET namespace_id = $1 WHERE id = $2";
    watch.world.write(sql, [other.into(), first.id.into()]).await;
    schedules.push(first.id);
    // All calls are due. The call of the other namespace became due last.
    for (at, schedule) in (0_i64..).zip(schedules) {
        let sql = "INSERT INTO ping (schedule_id, event, run_id, happened_at, attempts, failures, \
             next_attempt_at) VALUES ($1, 'success', $1, $2, 0, 0, $3)";
        let values = [schedule.into(), watch.now().0.into(), at.into()];
        watch.world.write(sql, values).await;
    }
    // The silent receivers make the test wait in real time, because its clock stands still.
    // Receivers that failed before do not delay the other call either.
    for (failures, heard) in [(0, 1), (1, 2)] {
        let sql = "UPDATE ping SET failures = $1, next_attempt_at = 0 WHERE event = 'success'";
        watch.world.write(sql, [failures.into()]).await;
        tokio::select! {
            done = pings.once(watch.clock.now()) => panic!("nobody was silent: {done:?}"),
            _ = there.places(heard) => {}
        }
    }
}

async fn events_beyond_one_look_are_read_by_the_next_at_once(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let node = watch.node("a").await;
    let mut pings = node.stepwise.pings();
    let quiet = watch.schedule(|_| {}).await;
    let called = watch.schedule(|row| row.ping = Some(whom(&inbox))).await;
    pings.once(watch.clock.now()).await.unwrap();
    watch.world.long_past(&quiet, 1, 5_000).await;
    let stamp = watch.world.database.store.dialect().stamp("run");
    watch.world.write(&format!("UPDATE run SET changed = {stamp}"), []).await;
    watch.ends(&called, run::State::Succeeded).await;
    let now = watch.clock.now();
    let looking = async {
        while pings.next_round(now) > now {
            pings.once(now).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), looking).await.expect("more to look at");
    assert!(inbox.arrived().is_empty());
    assert_eq!(calls(&mut pings, &watch, &inbox, 1).await, ["/ok?job=1"]);
    assert!(pings.next_round(now) > now);
}

async fn an_address_names_a_secret_and_nothing_says_it(database: TestDatabase) {
    let mut watch = Watch::begin(database).await;
    let inbox = Inbox::open().await;
    let node = watch.node("a").await;
    let mut pings = node.stepwise.pings();
    let address = format!("http://{}/{{{{ secrets.nightly }}}}", inbox.address);
    let schedule = watch.schedule(|row| row.ping = Some(json!({ "success": address }))).await;
    pings.once(watch.clock.now()).await.unwrap();
    watch.ends(&schedule, run::State::Succeeded).await;
    let missing = async {
        while rows(&watch).await.first().is_none_or(|row| row.error.is_none()) {
            pings.once(watch.clock.now()).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), missing).await.expect("an error");
    let error = rows(&watch).await.remove(0).error.unwrap();
    assert!(error.contains("find the secret 'nightly'"), "{error}");

    let (namespace, name) = ("test".to_owned(), "nightly".to_owned());
    let new = NewSecret { namespace, name, value: "open-sesame".into(), reason: None };
    let admin = editor().who().admin().unwrap();
    watch.commands().set_secret(&admin, new, &Call::once()).await.unwrap();
    watch.pass(15);
    assert_eq!(calls(&mut pings, &watch, &inbox, 1).await, ["/open-sesame"]);
    let dump = watch.world.database.dump().await;
    assert!(dump.contains("secrets.nightly") && !dump.contains("open-sesame"));
    let row = rows(&watch).await.remove(0);
    assert_eq!((row.error, row.attempts), (None, 2));
}

async fn a_running_engine_calls_by_itself(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.poll = Duration::from_millis(100);
    let inbox = Inbox::open().await;
    let watch = Watch::on(world);
    let world = &watch.world;
    let whom = whom(&inbox);
    watch.schedule(|row| row.ping = Some(whom.clone())).await;
    let engine = world.engine().await;
    let begun = || async { follows(&watch).await.then_some(()) };
    world.until("it follows", begun).await;
    world.due_now(noop(), |row| row.ping = Some(json!({ "success": whom["success"] }))).await;
    assert_eq!(inbox.places(1).await, ["/ok?job=1"]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// A run may be shorter than the interval between two rounds. Without a wake-up, its start would
/// not be reported.
async fn a_change_of_a_run_is_not_left_to_the_next_regular_look(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.poll = Duration::from_secs(3_600);
    let inbox = Inbox::open().await;
    let watch = Watch::on(world);
    let world = &watch.world;
    let engine = world.engine().await;
    engine.planner_reports().wait_for(|(count, _)| *count > 0).await.unwrap();
    let whom = whom(&inbox);
    world.due_now(noop(), |row| row.ping = Some(json!({ "success": whom["success"] }))).await;
    world.signals.wake_planner();
    // Transactions in other databases of this PostgreSQL delay the feed, so calls for later writes
    // count as well.
    let called = || async {
        world.database.store.changes().wake();
        (!inbox.arrived().is_empty()).then_some(())
    };
    world.until("the call", called).await;
    assert_eq!(inbox.places(1).await, ["/ok?job=1"]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
