//! The quotas of a namespace are enforced where its schedules fire: excess fires wait or are
//! skipped, and are accounted for.

use std::time::Duration;

use carillon::{
    model::{Quotas, Task},
    target::{Command, Target},
};
use entity::{
    fire::{Reason, Verdict},
    run,
};
use sea_orm::EntityTrait;

use super::{
    gate::Gate,
    world::{World, at, noop, task},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    fires_over_the_quota_are_skipped_and_each_is_accounted_for,
    runs_over_the_quota_wait_until_others_have_settled,
    a_quota_that_is_set_for_a_namespace_holds_without_a_restart,
    lines_over_the_quota_are_left_out_with_a_mark,
);

async fn fires_over_the_quota_are_skipped_and_each_is_accounted_for(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.settings.quotas = Quotas { fires_a_minute: Some(3), ..Quotas::default() };
    let each = |row: &mut entity::schedule::Model| {
        row.overlap = entity::schedule::Overlap::Allow;
        row.catch_up = entity::schedule::CatchUp::All;
    };
    let schedule = world.schedule("* * * * * *", noop(), each).await.id;
    // Ten of them are due when the engine begins.
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
    // The next minute has its own.
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
    let command = Command { script: Some(script.to_owned()), ..Command::default() };
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
