use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use entity::{
    backfill::{Mode, Order, State},
    backfill_fire::State::{Failed, Pending, Running, Succeeded},
    fire::{self, Reason, Verdict},
    run, schedule,
};
use sea_orm::EntityTrait;
use serde_json::json;
use tokio::sync::watch;

use super::{
    super::{
        forge,
        gate::Gate,
        world::{World, at, ms, noop},
    },
    backfill, ended, fires, key, missing, order, states, usual,
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_paused_schedules_missing_instants_run_one_after_the_other,
    the_newest_come_first_and_no_more_than_the_concurrency_are_alive,
    a_verdict_that_is_there_stays,
    failed_instants_run_again_and_succeeded_ones_do_not,
    a_failed_fire_is_recorded_and_the_next_one_starts,
    a_turn_that_finds_nothing_to_do_is_no_news,
);

const NOW: &str = "2026-03-01T12:00:30Z";

fn paused(row: &mut schedule::Model) {
    row.enabled = false;
}

async fn a_paused_schedules_missing_instants_run_one_after_the_other(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let mut gate = Gate::open().await;
    let schedule = world
        .schedule("0 * * * *", gate.task(), |row| {
            paused(row);
            row.context = json!({ "region": "eu", "dry": false });
        })
        .await;
    let mut manner = usual();
    manner.context = Some(json!({ "dry": true }));
    let id = order(&world, missing(&schedule, "09:00:00", "12:00:00"), manner).await;
    let engine = world.engine().await;
    for time in ["09:00:00", "10:00:00", "11:00:00"] {
        let arrival = gate.arrival().await;
        assert_eq!(arrival.key, key(&schedule, time));
        assert_eq!(arrival.body["context"], json!({ "region": "eu", "dry": true }));
        let at_work = fires(&world, id).await;
        let at_work = at_work.iter().filter(|fire| fire.state == Running);
        assert_eq!(at_work.count(), 1);
        arrival.answer(200);
    }
    let done = ended(&world, id).await;
    assert_eq!((done.state, done.total), (State::Completed, 3));
    assert_eq!(states(&world, id).await, [Succeeded; 3]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(!gate.has_more());

    let (ledger, runs) = (world.ledger(schedule.id).await, world.runs(schedule.id).await);
    assert_eq!((ledger.len(), runs.len()), (3, 3));
    for (fire, run) in ledger.iter().zip(&runs) {
        assert_eq!((fire.verdict, fire.reason), (Verdict::Started, Reason::Backfilled));
        assert_eq!((fire.id, fire.run_id), (run.id, Some(run.id)));
        assert_eq!((fire.scheduled_at, fire.count), (run.scheduled_at, 1));
        assert_eq!((run.fire_id, run.backfill_id), (Some(fire.id), Some(id)));
        assert_eq!((run.trigger, run.state), (run::Trigger::Backfill, run::State::Succeeded));
    }
    // The requested instant is not one of the schedule's own.
    let after = schedule::Entity::find_by_id(schedule.id).one(world.database.store.read()).await;
    assert_eq!(after.unwrap().unwrap(), schedule);
}

async fn the_newest_come_first_and_no_more_than_the_concurrency_are_alive(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let mut gate = Gate::open().await;
    let schedule = world.schedule("0 * * * *", gate.task(), paused).await;
    let mut manner = usual();
    (manner.order, manner.concurrency) = (Order::NewestFirst, 2);
    let id = order(&world, missing(&schedule, "07:00:00", "12:00:00"), manner).await;
    let engine = world.engine().await;
    let mut alive = VecDeque::from([gate.arrival().await, gate.arrival().await]);
    let keys: BTreeSet<&str> = alive.iter().map(|arrival| &*arrival.key).collect();
    assert_eq!(keys, BTreeSet::from([&*key(&schedule, "10:00:00"), &*key(&schedule, "11:00:00")]));
    assert_eq!(states(&world, id).await, [Running, Running, Pending, Pending, Pending]);
    assert!(!gate.has_more());
    for time in ["09:00:00", "08:00:00", "07:00:00"] {
        alive.pop_front().unwrap().answer(200);
        let next = gate.arrival().await;
        assert_eq!(next.key, key(&schedule, time));
        assert!(!gate.has_more());
        alive.push_back(next);
    }
    for arrival in alive {
        arrival.answer(200);
    }
    ended(&world, id).await;
    assert_eq!(states(&world, id).await, [Succeeded; 5]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_verdict_that_is_there_stays(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let schedule = world.schedule("0 * * * *", noop(), paused).await;
    let missed = |time: &'static str| {
        move |fire: &mut fire::Model| {
            (fire.verdict, fire.reason) = (Verdict::Missed, Reason::Outage);
            fire.claimed_by = None;
            fire.decided_at = Some(fire.claimed_at);
            fire.scheduled_at = ms(&format!("2026-03-01T{time}Z"));
            fire.last_scheduled_at = fire.scheduled_at;
        }
    };
    let alone = forge::intent(&world, &schedule, missed("06:00:00")).await;
    let range = forge::intent(&world, &schedule, |fire| {
        missed("07:00:00")(fire);
        (fire.last_scheduled_at, fire.count) = (ms("2026-03-01T10:00:00Z"), 4);
    })
    .await;
    // The backfill begins in the middle of the range.
    let id = order(&world, missing(&schedule, "09:00:00", "12:00:00"), usual()).await;
    let other = order(&world, missing(&schedule, "05:00:00", "08:00:00"), usual()).await;
    let engine = world.engine().await;
    ended(&world, id).await;
    ended(&world, other).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();

    let runs = world.runs(schedule.id).await;
    let told: Vec<_> =
        runs.iter().map(|run| (run.scheduled_at.utc().format("%H").to_string(), run)).collect();
    assert_eq!(told.len(), 6);
    for (hour, run) in &told {
        assert_eq!(run.state, run::State::Succeeded);
        let fire = match hour.as_str() {
            "06" => Some(alone.id),
            "07" | "09" | "10" => None,
            _ => Some(run.id),
        };
        assert_eq!(run.fire_id, fire, "{hour}");
    }
    let ledger = world.ledger(schedule.id).await;
    assert_eq!(ledger.len(), 4, "05, 06, from 07 to 10, 11: {ledger:#?}");
    // A row for one instant names the run of the backfill. A row for a range cannot name a single
    // run.
    let of_alone = runs.iter().find(|run| run.fire_id == Some(alone.id)).map(|run| run.id);
    let alone = fire::Model { run_id: of_alone, ..alone };
    assert_eq!((&ledger[1], &ledger[2]), (&alone, &range));
}

async fn failed_instants_run_again_and_succeeded_ones_do_not(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let schedule = world.schedule("0 * * * *", noop(), paused).await;
    let mut settled = Vec::new();
    for (time, state) in [
        ("07:00:00", run::State::Failed),
        ("08:00:00", run::State::Succeeded),
        ("09:00:00", run::State::TimedOut),
    ] {
        let at = ms(&format!("2026-03-01T{time}Z"));
        let run = forge::orphan(&world, &schedule, |run| {
            (run.state, run.scheduled_at) = (state, at);
            run.finished_at = Some(run.created_at);
            run.idempotency_key = key(&schedule, time);
        })
        .await;
        let sql = "UPDATE fire SET scheduled_at = $2, last_scheduled_at = $2 WHERE id = $1";
        world.write(sql, [run.id.into(), at.0.into()]).await;
        settled.push(run);
    }
    let ledger = world.ledger(schedule.id).await;
    let mut wanted = missing(&schedule, "07:00:00", "10:00:00");
    wanted.mode = Mode::MissingAndFailed;
    let id = order(&world, wanted, usual()).await;
    let engine = world.engine().await;
    let done = ended(&world, id).await;
    assert_eq!((done.total, done.state), (2, State::Completed));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    assert_eq!(world.ledger(schedule.id).await, ledger);
    let runs = world.runs(schedule.id).await;
    let again: Vec<_> = runs.iter().filter(|run| run.backfill_id == Some(id)).collect();
    assert_eq!(again.len(), 2);
    for (again, first) in again.iter().zip([&settled[0], &settled[2]]) {
        assert_ne!(again.id, first.id);
        assert_eq!((again.fire_id, again.scheduled_at), (Some(first.id), first.scheduled_at));
        assert_eq!(again.idempotency_key, first.idempotency_key);
    }
}

async fn a_failed_fire_is_recorded_and_the_next_one_starts(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let mut gate = Gate::open().await;
    let schedule = world.schedule("0 * * * *", gate.task(), paused).await;
    let id = order(&world, missing(&schedule, "10:00:00", "12:00:00"), usual()).await;
    let engine = world.engine().await;
    gate.arrival().await.answer(500);
    gate.arrival().await.answer(200);
    assert_eq!(ended(&world, id).await.state, State::Completed);
    assert_eq!(states(&world, id).await, [Failed, Succeeded]);
    assert_eq!(backfill(&world, id).await.finished_at, Some(world.clock.now().into()));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// Each commit wakes the followers of runs, on this node and on others.
async fn a_turn_that_finds_nothing_to_do_is_no_news(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at(NOW)).await;
    let turns = Arc::new(watch::Sender::new(0_u32));
    let seen = turns.clone();
    world.database.store = world.database.store.clone().with_observer(move |sql| {
        if sql.contains("FROM backfill_fire f LEFT JOIN run") {
            seen.send_modify(|count| *count += 1);
        }
    });
    let mut gate = Gate::open().await;
    let schedule = world.schedule("0 * * * *", gate.task(), paused).await;
    order(&world, missing(&schedule, "09:00:00", "12:00:00"), usual()).await;
    let engine = world.engine().await;
    let arrival = gate.arrival().await;
    let mut turns = turns.subscribe();
    let mut another = async || {
        turns.mark_unchanged();
        clock.advance(world.settings.poll);
        let turn = turns.changed();
        tokio::time::timeout(Duration::from_secs(60), turn).await.unwrap().unwrap();
    };
    // At some point the wake-ups of the backfill's start are over, and further turns cause none. If
    // each turn committed something, the wake-ups would never end.
    let mut quiet = 0;
    for _ in 0..50 {
        let news = world.database.store.changes().written();
        another().await;
        quiet = if news.has_changed().unwrap() { 0 } else { quiet + 1 };
        if quiet == 3 {
            break;
        }
    }
    assert_eq!(quiet, 3, "turns without work were committed");
    arrival.answer(200);
    gate.arrival().await.answer(200);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
