//! The quotas of a namespace limit its fires: excess fires wait or are skipped, and the ledger says
//! so.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use carillon::{
    config,
    engine::{Engine, StepwiseService, maintenance::health},
    model::{Quotas, Task},
    store::{
        FaultPoint, Faults, StoreError,
        history::{History, WrittenLog},
        reads::{health::HealthScope, within::Within},
    },
    target::{CommandTarget, Target},
};
use chrono::TimeDelta;
use entity::{
    fire::{Reason, Verdict},
    run,
};
use futures::FutureExt;
use sea_orm::{DbErr, EntityTrait, RuntimeErr};
use timetable::retry::{Backoff, Policy};
use uuid::Uuid;

use super::{
    forge,
    gate::Gate,
    world::{World, at, noop, task},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    fires_over_the_quota_are_skipped_and_each_is_accounted_for,
    fires_whose_claim_failed_use_up_no_quota,
    runs_over_the_quota_wait_until_others_have_settled,
    a_quota_that_is_set_for_a_namespace_holds_without_a_restart,
    lines_over_the_quota_are_left_out_with_a_mark,
    the_last_errors_are_kept_although_a_quota_is_used_up,
    a_run_may_print_as_much_as_its_quota_over_all_attempts,
    output_over_the_quota_of_what_is_kept_is_left_out_and_the_run_succeeds,
    output_whose_commit_had_no_answer_counts_once,
    history_over_the_quota_goes_before_its_retention_the_oldest_first,
    history_that_a_shorter_retention_has_removed_lets_no_other_go,
    rows_count_for_as_long_as_their_schedule_keeps_them,
);

async fn fires_over_the_quota_are_skipped_and_each_is_accounted_for(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.settings.quotas = Quotas { fires_a_minute: Some(3), ..Quotas::default() };
    let each = |row: &mut entity::schedule::Model| {
        row.overlap = entity::schedule::Overlap::Allow;
        row.catch_up = entity::schedule::CatchUp::All;
    };
    let schedule = world.schedule("* * * * * *", noop(), each).await.id;
    // Ten fires are due when the engine starts.
    clock.advance(Duration::from_secs(10));
    let engine = world.engine().await;
    let fates = world.decided(schedule, 4).await;
    let told: Vec<_> = fates.iter().map(|fire| (fire.verdict, fire.reason, fire.count)).collect();
    let starts = told.iter().filter(|(verdict, ..)| *verdict == Verdict::Started);
    assert_eq!(starts.count(), 3, "{told:?}");
    let skipped: Vec<_> = fates.iter().filter(|fire| fire.reason == Reason::Quota).collect();
    assert_eq!(skipped.len(), 1, "{told:?}");
    assert_eq!((skipped[0].verdict, skipped[0].count), (Verdict::Skipped, 7));
    assert_eq!(skipped[0].detail.as_deref(), Some("3"));
    assert_eq!(fates.iter().map(|fire| fire.count).sum::<i64>(), 10);
    // Each minute has its own quota.
    clock.set(at("2026-03-01T12:01:00Z"));
    world
        .until("fires of the next minute have started", || async {
            let ledger = world.ledger(schedule).await;
            let next = at("2026-03-01T12:00:10Z").into();
            let started = |fire: &&entity::fire::Model| {
                fire.verdict == Verdict::Started && fire.scheduled_at > next
            };
            (ledger.iter().filter(started).count() == 3).then_some(())
        })
        .await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The claim is repeated, and must not skip fires because of its own first try.
async fn fires_whose_claim_failed_use_up_no_quota(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.settings.quotas = Quotas { fires_a_minute: Some(3), ..Quotas::default() };
    let mut schedules = Vec::new();
    for _ in 0..3 {
        schedules.push(world.due_now(noop(), |_| {}).await.id);
    }
    let fails = Arc::new(AtomicBool::new(false));
    let breaks = fails.clone();
    let edge = move |edge| {
        let is_broken = edge == FaultPoint::Commit && breaks.swap(false, Ordering::SeqCst);
        ready(if is_broken { Err(StoreError::unanswered()) } else { Ok(()) }).boxed()
    };
    let sound = world.database.store.clone();
    world.database.store = sound.clone().with_faults(Faults::new(edge, || None));
    let (_node, mut services) = world.by_hand().await;
    world.database.store = sound;
    let planner = services.get_mut("planner").unwrap();
    fails.store(true, Ordering::SeqCst);
    planner.once(clock.now()).await.unwrap_err();
    assert!(world.ledger(schedules[0]).await.is_empty());
    planner.once(clock.now()).await.unwrap();
    for schedule in schedules {
        let fire = world.ledger(schedule).await.remove(0);
        assert_eq!((fire.verdict, fire.detail), (Verdict::Started, None));
    }
}

async fn runs_over_the_quota_wait_until_others_have_settled(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.quotas = Quotas { live_runs: Some(2), ..Quotas::default() };
    let mut gate = Gate::open().await;
    let engine = world.engine().await;
    for _ in 0..4 {
        world.due_now(gate.task(), |_| {}).await;
    }
    let first = [gate.arrival().await, gate.arrival().await];
    let states = async || {
        let runs = run::Entity::find().all(world.database.store.read()).await.unwrap();
        let running = runs.iter().filter(|run| run.state == run::State::Running).count();
        (runs.len() == 4).then_some(running)
    };
    assert_eq!(world.until("all are handed over", states).await, 2);
    assert!(!gate.has_more());
    for arrival in first {
        arrival.answer(200);
        gate.arrival().await.answer(200);
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_quota_that_is_set_for_a_namespace_holds_without_a_restart(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let engine = world.engine().await;
    let set = "UPDATE namespace SET quotas = $1";
    let quotas = serde_json::json!({ "fires_a_minute": 1 });
    world.write(set, [quotas.into()]).await;
    let schedule = world.schedule("* * * * * *", noop(), |row| {
        row.overlap = entity::schedule::Overlap::Allow;
    });
    let schedule = schedule.await.id;
    let _time = super::held_up::ticking(&clock);
    world
        .until("a fire is skipped", || async {
            let ledger = world.ledger(schedule).await;
            ledger.iter().any(|fire| fire.reason == Reason::Quota).then_some(())
        })
        .await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn lines_over_the_quota_are_left_out_with_a_mark(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.quotas = Quotas { log_bytes_a_day: Some(40), ..Quotas::default() };
    let engine = world.engine().await;
    let script = "for n in 1 2 3 4 5 6 7 8 9; do echo 0123456789; done";
    let command = CommandTarget { script: Some(script.to_owned()), ..CommandTarget::default() };
    let print: Task = task(Target::Command(command));
    let first = world.due_now(print.clone(), |_| {}).await;
    let first = world.settled_run(first.id).await;
    assert_eq!(first.state, run::State::Succeeded);
    let second = world.due_now(print, |_| {}).await;
    let second = world.settled_run(second.id).await;
    let lines = async |id| {
        let lines = world.database.store.lines_after(id, 0, 10_000).await.unwrap();
        lines.into_iter().map(|line| line.text).collect::<Vec<_>>()
    };
    let mark = "the namespace has used its quota of 40 bytes of log a day: the rest of this \
        attempt's lines is left out";
    assert_eq!(lines(second.id).await, [mark]);
    let first = lines(first.id).await;
    assert_eq!(first.last().map(String::as_str), Some(mark));
    assert!(first.len() <= 5, "{first:?}");
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn the_last_errors_are_kept_although_a_quota_is_used_up(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.quotas = Quotas { log_bytes_a_run: Some(1), ..Quotas::default() };
    let engine = world.engine().await;
    let script = "echo working; seq 1000 2000 >&2; echo 'the disk is full' >&2; exit 1";
    let command = CommandTarget { script: Some(script.to_owned()), ..CommandTarget::default() };
    let schedule = world.due_now(task(Target::Command(command)), |_| {}).await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::Failed);
    let lines = texts(&world, run.id).await;
    let mark = "the run has used its quota of 1 bytes of log: the rest of this attempt's lines is \
        left out";
    assert_eq!(lines[..2], [mark, "the last lines of its errors:"]);
    assert_eq!(lines[lines.len() - 2..], ["2000", "the disk is full"]);
    let bytes: usize = lines[2..].iter().map(|line| line.len() + 1).sum();
    assert!((3_000..=4_096).contains(&bytes), "{bytes}");
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// A program that prints lines of ten bytes.
fn printing(lines: usize, exit: i32) -> Task {
    let script = format!("for n in $(seq {lines}); do echo 0123456789; done; exit {exit}");
    task(Target::Command(CommandTarget { script: Some(script), ..CommandTarget::default() }))
}

async fn texts(world: &World, run: Uuid) -> Vec<String> {
    let lines = world.database.store.lines_after(run, 0, 10_000).await.unwrap();
    lines.into_iter().map(|line| line.text).collect()
}

/// Adds bytes of log to the database's counts, now.
async fn add_log(world: &World, written: &[WrittenLog]) {
    let (store, now) = (&world.database.store, world.clock.now());
    let tx = store.begin().await.unwrap();
    store.add_log_bytes(&tx, written, now.into()).await.unwrap();
    store.commit(tx).await.unwrap();
}

/// The result of the history check, if there is any.
async fn told(world: &World, engine: Option<&Engine>) -> Option<String> {
    let (store, limits) = (&world.database.store, config::Health::default());
    let cluster = engine.map(Engine::cluster).unwrap_or_default();
    let scope = HealthScope { within: Within::One(world.namespace), tag: None };
    let checks = health::examine(store, &world.clock, &cluster, &scope, &limits).await.unwrap();
    let check = checks.into_iter().find(|check| check.name == "history").unwrap();
    assert!(check.healthy);
    check.issue
}

async fn a_run_may_print_as_much_as_its_quota_over_all_attempts(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.quotas = Quotas { log_bytes_a_run: Some(45), ..Quotas::default() };
    let engine = world.engine().await;
    let retry = Policy {
        max_attempts: 2,
        backoff: Backoff::Exponential,
        initial_ms: 10,
        max_ms: 10,
        jitter: 0.0,
    };
    let schedule = world.due_now(Task { retry, ..printing(3, 1) }, |_| {}).await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!((run.state, run.attempt), (run::State::Failed, 2));
    // The stored bytes of the first attempt include line ends.
    let line = "0123456789";
    let mark = "the run has used its quota of 45 bytes of log: the rest of this attempt's lines is \
        left out";
    assert_eq!(texts(&world, run.id).await, [line, line, line, line, mark]);
    // Another run may write as many bytes again.
    let schedule = world.due_now(printing(4, 0), |_| {}).await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(texts(&world, run.id).await, [line; 4]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn output_over_the_quota_of_what_is_kept_is_left_out_and_the_run_succeeds(
    database: TestDatabase,
) {
    let mut world = World::new(database).await;
    world.settings.quotas = Quotas { log_bytes: Some(60), ..Quotas::default() };
    world.settings.quotas_interval = Duration::from_millis(20);
    let store = world.database.store.clone();
    let earlier = WrittenLog { namespace: "test".to_owned(), schedule_id: None, bytes: 20 };
    add_log(&world, std::slice::from_ref(&earlier)).await;
    let full = WrittenLog { bytes: 40, ..earlier };
    let mark = "the namespace has used its quota of 60 bytes of kept log: the rest of this \
        attempt's lines is left out";

    let engine = world.engine().await;
    let schedule = world.due_now(printing(3, 0), |_| {}).await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::Succeeded);
    assert_eq!(texts(&world, run.id).await, ["0123456789"; 3]);
    assert_eq!(told(&world, Some(&engine)).await, None);

    // Adds the lines that other nodes have printed.
    add_log(&world, &[full]).await;
    let issue = loop {
        if let Some(issue) = told(&world, Some(&engine)).await {
            break issue;
        }
        tokio::task::yield_now().await;
    };
    assert!(issue.contains("among them test with 60 bytes"), "{issue}");
    let schedule = world.due_now(printing(3, 0), |_| {}).await;
    let run = world.settled_run(schedule.id).await;
    assert_eq!(run.state, run::State::Succeeded);
    assert_eq!(texts(&world, run.id).await, [mark]);
    // The database counts the lines that this node printed, and counts them only once.
    let day = world.clock.now() + TimeDelta::days(1);
    let counted = async || store.history_of(world.namespace, 45, day).await.unwrap().log_bytes;
    while counted().await < 90 {
        tokio::task::yield_now().await;
    }
    assert_eq!(counted().await, 90);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn output_whose_commit_had_no_answer_counts_once(database: TestDatabase) {
    let mut world = World::new(database).await;
    world.settings.quotas_interval = Duration::from_millis(20);
    let sound = world.database.store.clone();
    let (namespace, day) = (world.namespace, world.clock.now() + TimeDelta::days(1));
    let is_over = Arc::new(AtomicBool::new(false));
    let (there, over) = (sound.clone(), is_over.clone());
    let edge = move |edge| {
        let (there, over) = (there.clone(), over.clone());
        let answered = async move {
            if edge != FaultPoint::Committed || over.load(Ordering::SeqCst) {
                return Ok(());
            }
            if there.history_of(namespace, 45, day).await.unwrap().log_bytes == 0 {
                return Ok(());
            }
            over.store(true, Ordering::SeqCst);
            let lost = DbErr::Conn(RuntimeErr::Internal("the answer was lost".to_owned()));
            Err(StoreError::Database(lost))
        };
        answered.boxed()
    };
    world.database.store = sound.clone().with_faults(Faults::new(edge, || None));
    let engine = world.engine().await;
    world.database.store = sound.clone();
    let schedule = world.due_now(printing(3, 0), |_| {}).await;
    world.settled_run(schedule.id).await;
    while !is_over.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
    let schedule = world.due_now(printing(1, 0), |_| {}).await;
    world.settled_run(schedule.id).await;
    let counted = async || sound.history_of(namespace, 45, day).await.unwrap().log_bytes;
    while counted().await < 40 {
        tokio::task::yield_now().await;
    }
    assert_eq!(counted().await, 40);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn history_over_the_quota_goes_before_its_retention_the_oldest_first(database: TestDatabase) {
    let (mut world, _clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.settings.quotas = Quotas { history_rows: Some(10), ..Quotas::default() };
    let store = world.database.store.clone();
    let other = Uuid::now_v7();
    let unlimited =
        "INSERT INTO namespace (id, name, quotas, created_at) VALUES ($1, 'other', $2, 0)";
    let none = serde_json::json!({ "history_rows": 0 });
    world.write(unlimited, [other.into(), none.into()]).await;
    let schedule = forge::idle(&world, noop(), |_| {}).await;
    let theirs = forge::idle(&world, noop(), |row| row.namespace_id = other).await;
    for days in [9, 7, 5, 3, 1] {
        world.past(&schedule, days, 2, |_, _| {}).await;
        world.past(&theirs, days, 2, |_, _| {}).await;
    }
    let live = world
        .past(&schedule, 8, 1, |_, run| (run.state, run.finished_at) = (run::State::Running, None))
        .await;

    let (_node, mut steps) = world.by_hand().await;
    let now = world.clock.now();
    let kept = async |id| store.history_of(id, 45, now).await.unwrap().row_count;
    let fills = async |steps: &mut std::collections::HashMap<_, StepwiseService>| {
        // On PostgreSQL the feed waits for the oldest transaction of all tests. The live run counts
        // only when it has settled, its fire counts at once.
        while (kept(world.namespace).await, kept(other).await) != (16, 15) {
            steps.get_mut("stats").unwrap().once(now).await.unwrap();
        }
    };
    let filled = tokio::time::timeout(Duration::from_secs(60), fills(&mut steps));
    filled.await.unwrap();
    assert_eq!(told(&world, None).await, None);

    // Pings have not read the feed of runs yet.
    let unread = "INSERT INTO alert_cursor (feed, changed, \"key\") VALUES ('pings', -1, $1)";
    world.write(unread, [Uuid::nil().into()]).await;
    let cut = steps.get_mut("history_quotas").unwrap();
    assert_eq!(cut.once(now).await.unwrap(), None, "unread history stays");
    assert_eq!(world.sizes().await, [11, 11, 11, 21]);
    let read = "UPDATE alert_cursor SET changed = $1";
    world.write(read, [i64::MAX.into()]).await;
    // The rules of a deleted namespace read nothing, so no history waits for them.
    let gone = Uuid::now_v7();
    let deleted = "INSERT INTO namespace (id, name, created_at, deleted_at) \
        VALUES ($1, 'gone', 0, $2)";
    world.write(deleted, [gone.into(), now.timestamp_millis().into()]).await;
    let rule = "INSERT INTO alert_rule (id, namespace_id, name, definition, enabled, since, version, \
        created_at, updated_at) VALUES ($1, $1, 'all', $2, true, 0, 1, 0, 0)";
    world.write(rule, [gone.into(), serde_json::json!({}).into()]).await;
    let unread = "INSERT INTO alert_cursor (feed, changed, \"key\") VALUES ('failures', -1, $1)";
    world.write(unread, [Uuid::nil().into()]).await;
    let oldest = world.runs(schedule.id).await.iter().map(|run| run.id).min().unwrap();
    let fails = "UPDATE run SET state = 'failed' WHERE id = $1";
    world.write(fails, [oldest.into()]).await;
    assert!(cut.once(now).await.unwrap().unwrap().contains("cut: 1, rows: 6"));
    let left: Vec<Uuid> = world.runs(schedule.id).await.iter().map(|run| run.id).collect();
    assert_eq!(left.len(), 4, "three that fit, and the live one");
    assert!(left.contains(&live));
    assert_eq!(world.ledger(schedule.id).await.len(), 4);
    assert_eq!(world.runs(theirs.id).await.len(), 5);
    assert_eq!(world.sizes().await, [9, 9, 9, 17]);
    assert_eq!(kept(world.namespace).await, 9);
    let bytes = store.history_of(world.namespace, 45, now).await.unwrap().log_bytes;
    assert_eq!(bytes, 6, "the line of the live run still counts");
    let issue = told(&world, None).await.unwrap();
    assert!(issue.contains("test, which has none from before 2026-02-24T12:00:00Z"), "{issue}");
    assert_eq!(
        store.cut_of(world.namespace).await.unwrap(),
        Some(super::world::ms("2026-02-24T12:00:00Z"))
    );
    assert_eq!(cut.once(now).await.unwrap(), None, "what fits stays");
}

/// Counts until the namespace has this many rows. On PostgreSQL, the feed waits for the oldest
/// transaction of all tests.
async fn count_until(world: &World, stats: &mut StepwiseService, rows: i64) {
    let (store, now) = (&world.database.store, world.clock.now());
    let fills = async {
        while store.history_of(world.namespace, 45, now).await.unwrap().row_count < rows {
            stats.once(now).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), fills).await.unwrap();
}

async fn history_that_a_shorter_retention_has_removed_lets_no_other_go(database: TestDatabase) {
    let (mut world, _clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.settings.quotas = Quotas { history_rows: Some(12), ..Quotas::default() };
    let store = world.database.store.clone();
    let usual = forge::idle(&world, noop(), |_| {}).await;
    let brief = forge::idle(&world, noop(), |_| {}).await;
    for days in [9, 7, 1] {
        world.past(&usual, days, 1, |_, _| {}).await;
        world.past(&brief, days, 1, |_, _| {}).await;
    }
    let (_node, mut steps) = world.by_hand().await;
    let now = world.clock.now();
    count_until(&world, steps.get_mut("stats").unwrap(), 18).await;

    let shorten = "UPDATE schedule SET retention_days = 2 WHERE id = $1";
    world.write(shorten, [brief.id.into()]).await;
    world.retain(45).await;
    let kept = async || store.history_of(world.namespace, 45, now).await.unwrap().row_count;
    assert_eq!((world.sizes().await[1], kept().await), (4, 18), "rows are gone that count");

    let cut = steps.get_mut("history_quotas").unwrap();
    assert_eq!(cut.once(now).await.unwrap(), None);
    assert_eq!((world.sizes().await[1], kept().await), (4, 12), "the counts are right, too");
    assert_eq!(told(&world, None).await, None);
    // From now on, the remaining rows are kept for as long as the schedule's new retention says.
    let then = now + TimeDelta::days(2);
    assert_eq!(store.history_of(world.namespace, 45, then).await.unwrap().row_count, 9);
}

async fn rows_count_for_as_long_as_their_schedule_keeps_them(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    let store = &world.database.store;
    let usual = forge::idle(&world, noop(), |_| {}).await;
    let brief = forge::idle(&world, noop(), |row| row.retention_days = Some(2)).await;
    for schedule in [&usual, &brief] {
        world.past(schedule, 1, 1, |_, _| {}).await;
    }
    let (_node, mut steps) = world.by_hand().await;
    let now = world.clock.now();
    let at = async |days| {
        let then = now + TimeDelta::days(days);
        store.history_of(world.namespace, 45, then).await.unwrap()
    };
    let counts = async {
        while at(0).await.row_count < 6 {
            steps.get_mut("stats").unwrap().once(now).await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), counts).await.unwrap();
    steps.get_mut("stats").unwrap().once(now).await.unwrap();
    assert_eq!(at(0).await.row_count, 6, "nothing counts twice");
    let log = |schedule_id, bytes| WrittenLog { namespace: "test".to_owned(), schedule_id, bytes };
    let written = [log(Some(usual.id), 100), log(Some(brief.id), 10), log(None, 1)];
    add_log(&world, &written).await;
    add_log(&world, &[log(None, 1)]).await;
    let history = |row_count, log_bytes| History { row_count, log_bytes };
    assert_eq!(at(0).await, history(6, 112));
    assert_eq!(at(1).await, history(3, 112));
    assert_eq!(at(2).await, history(3, 102));
    assert_eq!(at(45).await, history(0, 0));
    let ids = [world.namespace];
    let kept = store.log_bytes_kept(&ids, 45, now + TimeDelta::days(2)).await.unwrap();
    assert_eq!(kept, [("test".to_owned(), 102)]);
}
