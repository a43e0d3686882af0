use std::time::Duration;

use carillon::commands::Call;
use entity::{
    Timestamp,
    backfill::{Mode, State},
    backfill_fire::State::{Skipped, Succeeded},
    fire::{self, Reason, Verdict},
    run,
    schedule::{self, CatchUp, Overlap},
};
use sea_orm::{EntityTrait, IntoActiveModel};
use uuid::Uuid;

use super::{
    super::{
        forge,
        gate::Gate,
        world::{World, at, ms, noop},
    },
    ada, assert_each_minute_once, commands, ended, fires, key, missing, operator, order, states,
    usual,
};
use crate::support::{TestDatabase, on_both};

on_both!(
    an_instant_in_two_backfills_has_one_run_at_a_time,
    an_instant_that_the_planner_fires_at_the_same_moment_runs_once,
    a_run_of_a_backfill_is_not_in_the_way_of_the_schedules_next_fire,
    what_a_pause_leaves_goes_around_what_a_backfill_ran,
    an_outage_and_a_backfill_account_for_each_instant_once,
    an_instant_that_a_backfill_ran_is_in_no_later_fires_way,
    an_outage_around_a_thousand_instants_that_have_run_is_claimed_in_parts,
);

const NOW: &str = "2026-03-01T12:00:30Z";

fn paused(row: &mut schedule::Model) {
    row.enabled = false;
}

async fn an_instant_in_two_backfills_has_one_run_at_a_time(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let mut gate = Gate::open().await;
    let schedule = world.schedule("0 * * * *", gate.task(), paused).await;
    let mut wanted = missing(&schedule, "10:00:00", "12:00:00");
    wanted.mode = Mode::All;
    let mut both = [order(&world, wanted, usual()).await, order(&world, wanted, usual()).await];
    // Of two backfills requested in the same millisecond, the one with the lower key comes first.
    both.sort();
    let [one, two] = both;
    let engine = world.engine().await;
    // One backfill begins with the first instant, so the other continues with the second.
    let (first, second) = (gate.arrival().await, gate.arrival().await);
    let (first, second) =
        if first.key == key(&schedule, "10:00:00") { (first, second) } else { (second, first) };
    assert_eq!(first.key, key(&schedule, "10:00:00"));
    assert_eq!(second.key, key(&schedule, "11:00:00"));
    let later = &fires(&world, two).await[0];
    assert_eq!(later.state, Skipped);
    let run = fires(&world, one).await[0].run_id.unwrap();
    assert_eq!(later.detail, Some(format!("run {run} was alive for this instant")));

    first.answer(200);
    ended(&world, one).await;
    assert_eq!(states(&world, one).await, [Succeeded, Skipped]);
    second.answer(200);
    assert_eq!(ended(&world, two).await.state, State::Completed);
    assert_eq!(states(&world, two).await, [Skipped, Succeeded]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    assert_eq!(world.runs(schedule.id).await.len(), 2);
    assert_eq!(world.ledger(schedule.id).await.len(), 2);
}

/// The schedule was paused when the backfill was requested. The planner has not run since then.
async fn an_instant_that_the_planner_fires_at_the_same_moment_runs_once(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let mut pairs = Vec::new();
    for _ in 0..20 {
        let due = |row: &mut schedule::Model| {
            paused(row);
            row.next_scheduled_at = Some(ms("2026-03-01T12:00:00Z"));
        };
        let schedule = world.schedule("* * * * *", noop(), due).await;
        let id = order(&world, missing(&schedule, "11:59:00", "12:00:30"), usual()).await;
        pairs.push((schedule, id));
    }
    for (schedule, _) in &pairs {
        enable(&world, schedule.id).await;
    }
    let engine = world.engine().await;
    for (schedule, id) in pairs {
        ended(&world, id).await;
        assert_eq!(states(&world, id).await, [Succeeded, Skipped]);
        let runs = world.settled(schedule.id, 2).await;
        let ledger = world.ledger(schedule.id).await;
        assert_eq!((runs.len(), ledger.len()), (2, 2), "{runs:#?}");
        let told: Vec<_> = ledger.iter().map(|row| (row.reason, row.run_id)).collect();
        let expected = [(Reason::Backfilled, Some(runs[0].id)), (Reason::Late, Some(runs[1].id))];
        assert_eq!(told, expected);
        assert_eq!(runs[1].trigger, run::Trigger::Schedule);
    }
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_run_of_a_backfill_is_not_in_the_way_of_the_schedules_next_fire(database: TestDatabase) {
    let (world, clock) = World::at(database, at(NOW)).await;
    let mut gate = Gate::open().await;
    let schedule = world.schedule("0 * * * *", gate.task(), |_| {}).await;
    let id = order(&world, missing(&schedule, "11:00:00", "12:00:00"), usual()).await;
    let engine = world.engine().await;
    let of_the_backfill = gate.arrival().await;
    clock.set(at("2026-03-01T13:00:00Z"));
    let of_the_schedule = gate.arrival().await;
    assert_eq!(of_the_schedule.key, key(&schedule, "13:00:00"));
    of_the_schedule.answer(200);
    of_the_backfill.answer(200);
    ended(&world, id).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn what_a_pause_leaves_goes_around_what_a_backfill_ran(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let schedule = world
        .schedule("* * * * *", noop(), |row| {
            paused(row);
            row.next_scheduled_at = Some(ms("2026-03-01T06:01:00Z"));
        })
        .await;
    let id = order(&world, missing(&schedule, "08:00:00", "08:03:00"), usual()).await;
    let engine = world.engine().await;
    ended(&world, id).await;
    let commands = commands(&world);
    let reader = ada().viewer().unwrap();
    let preview = commands.resume_preview(&reader, schedule.id, None, false).await.unwrap();
    commands.resume(&operator(), schedule.id, CatchUp::Skip, &Call::once()).await.unwrap();
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    let ledger = world.ledger(schedule.id).await;
    assert_each_minute_once(&ledger, "06:01:00", "12:00:00");
    let told: Vec<_> = ledger.iter().map(|row| (row.reason, row.count)).collect();
    let backfilled = (Reason::Backfilled, 1);
    assert_eq!(
        told,
        [(Reason::Paused, 119), backfilled, backfilled, backfilled, (Reason::Paused, 238)]
    );
    let skip = &preview.choices[0].foreseen.fires;
    let foreseen: Vec<_> = skip.iter().map(|row| (row.scheduled_at, row.count)).collect();
    let written = ledger.iter().filter(|row| row.reason == Reason::Paused);
    let written: Vec<_> = written.map(|row| (row.scheduled_at, row.count)).collect();
    assert_eq!(foreseen, written);
}

async fn an_outage_and_a_backfill_account_for_each_instant_once(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let schedule = world
        .schedule("* * * * *", noop(), |row| {
            paused(row);
            row.catch_up = CatchUp::Skip;
            row.next_scheduled_at = Some(ms("2026-03-01T06:01:00Z"));
        })
        .await;
    let before = order(&world, missing(&schedule, "08:00:00", "08:03:00"), usual()).await;
    let engine = world.engine().await;
    ended(&world, before).await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    let during = order(&world, missing(&schedule, "08:02:00", "08:05:00"), usual()).await;
    enable(&world, schedule.id).await;
    // Planner and backfill start at the same time.
    let engine = world.engine().await;
    ended(&world, during).await;
    assert_eq!(states(&world, before).await, [Succeeded; 3]);
    assert_eq!(states(&world, during).await, [Succeeded; 2]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    let ledger = world.ledger(schedule.id).await;
    assert_each_minute_once(&ledger, "06:01:00", "12:00:00");
    let told: Vec<_> = ledger.iter().map(|row| (row.reason, row.count)).take(5).collect();
    let backfilled = (Reason::Backfilled, 1);
    let outage = |count| (Reason::Outage, count);
    assert_eq!(told[..4], [outage(119), backfilled, backfilled, backfilled]);
    // The two other instants are part of the row for the outage.
    assert_eq!(told[4].0, Reason::Outage);
    assert!(told[4].1 > 200, "{told:?}");
}

async fn an_instant_that_a_backfill_ran_is_in_no_later_fires_way(database: TestDatabase) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    for overlap in [Overlap::Skip, Overlap::CancelOther, Overlap::TerminateOther] {
        let schedule = world
            .schedule("* * * * *", noop(), |row| {
                paused(row);
                row.overlap = overlap;
                row.catch_up = CatchUp::All;
                row.next_scheduled_at = Some(ms("2026-03-01T11:58:00Z"));
            })
            .await;
        // The backfilled instant is the first of the due ones, or the last.
        let time = if overlap == Overlap::Skip { "11:58:00" } else { "12:00:00" };
        let backfilled = forge::intent(&world, &schedule, |fire| {
            (fire.verdict, fire.reason) = (Verdict::Started, Reason::Backfilled);
            fire.decided_at = Some(fire.claimed_at);
            fire.claimed_by = None;
            fire.scheduled_at = ms(&format!("2026-03-01T{time}Z"));
            fire.last_scheduled_at = fire.scheduled_at;
        })
        .await;
        enable(&world, schedule.id).await;
        let engine = world.engine().await;
        world.settled(schedule.id, 2).await;
        let ledger = world.decided(schedule.id, 3).await;
        engine.shutdown(Duration::from_secs(5)).await.unwrap();
        assert_each_minute_once(&ledger, "11:58:00", "12:00:00");
        let all_ran = ledger.iter().all(|fire| fire.verdict == Verdict::Started);
        assert!(all_ran, "{overlap:?}: {ledger:#?}");
        assert!(ledger.contains(&backfilled));
    }
}

async fn an_outage_around_a_thousand_instants_that_have_run_is_claimed_in_parts(
    database: TestDatabase,
) {
    let (world, _clock) = World::at(database, at(NOW)).await;
    let schedule = world
        .schedule("* * * * * *", noop(), |row| {
            paused(row);
            row.catch_up = CatchUp::Skip;
            row.grace_ms = 0;
            row.next_scheduled_at = Some(ms("2026-03-01T11:00:00Z"));
        })
        .await;
    let first = forge::intent(&world, &schedule, |fire| {
        (fire.verdict, fire.reason) = (Verdict::Started, Reason::Backfilled);
        fire.decided_at = Some(fire.claimed_at);
        fire.claimed_by = None;
        fire.scheduled_at = ms("2026-03-01T11:00:01Z");
        fire.last_scheduled_at = fire.scheduled_at;
    })
    .await;
    // Every other second has a row.
    let others = (1..1_200_i64).map(|index| {
        let at = Timestamp(first.scheduled_at.0 + 2_000 * index);
        let row = fire::Model { scheduled_at: at, last_scheduled_at: at, ..first.clone() };
        fire::Model { id: Uuid::now_v7(), ..row }.into_active_model()
    });
    let others: Vec<fire::ActiveModel> = others.collect();
    let tx = world.database.store.begin().await.unwrap();
    for some in others.chunks(100) {
        fire::Entity::insert_many(some.to_vec()).exec(&tx).await.unwrap();
    }
    world.database.store.commit(tx).await.unwrap();
    enable(&world, schedule.id).await;
    let engine = world.engine().await;
    let ledger = world
        .until("the outage is accounted for", || async {
            let ledger = world.ledger(schedule.id).await;
            let end = ms("2026-03-01T12:00:30Z");
            ledger.iter().any(|row| row.last_scheduled_at == end).then_some(ledger)
        })
        .await;
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
    let mut next = ms("2026-03-01T11:00:00Z").0;
    for row in &ledger {
        assert_eq!(row.scheduled_at.0, next, "{row:#?}");
        assert_eq!(row.last_scheduled_at.0, next + 1_000 * (row.count - 1), "{row:#?}");
        next = row.last_scheduled_at.0 + 1_000;
    }
    assert!(ledger.len() >= 2_400, "{}", ledger.len());
}

/// Ends the pause directly in the table: the cursor stays where it is.
async fn enable(world: &World, schedule: Uuid) {
    let sql = "UPDATE schedule SET enabled = true WHERE id = $1";
    world.write(sql, [schedule.into()]).await;
    world.signals.wake_planner();
}
