//! The start deadline: a fire that is past it does not run, wherever the fire has waited.

use std::time::Duration;

use entity::{
    fire::{Reason, Verdict},
    run,
    schedule::{CatchUp, Overlap},
};

use super::{
    gate::Gate,
    world::{World, at, ms, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_run_that_waits_for_room_past_its_deadline_does_not_start,
    a_catch_up_past_its_deadline_does_not_run,
);

async fn a_run_that_waits_for_room_past_its_deadline_does_not_start(database: TestDatabase) {
    let (mut world, clock) = World::at(database, at("2026-03-01T12:00:00Z")).await;
    world.settings.capacity = 1;
    let mut gate = Gate::open().await;
    let in_the_way = world.due_now(gate.task(), |_| {}).await;
    let engine = world.engine().await;
    let arrival = gate.arrival().await;
    let strict = world.due_now(noop(), |row| row.start_deadline_ms = Some(30_000)).await;
    let patient = world.due_now(noop(), |_| {}).await;
    for schedule in [&strict, &patient] {
        let fires = world.decided(schedule.id, 1).await;
        assert_eq!((fires[0].verdict, fires[0].reason), (Verdict::Started, Reason::OnTime));
    }
    clock.advance(Duration::from_secs(3_600));
    arrival.answer(200);
    assert_eq!(world.settled_run(in_the_way.id).await.state, run::State::Succeeded);
    assert_eq!(world.settled_run(patient.id).await.state, run::State::Succeeded);

    let run = world.settled_run(strict.id).await;
    assert_eq!((run.state, run.attempt), (run::State::Cancelled, 0));
    assert_eq!(run.cancel_reason.as_deref(), Some("its start deadline had passed"));
    assert_eq!(run.finished_at, Some(clock.now().into()));
    assert!(world.attempts(run.id).await.is_empty());
    let fire = world.ledger(strict.id).await.remove(0);
    assert_eq!((fire.verdict, fire.reason), (Verdict::Skipped, Reason::Deadline));
    assert_eq!((fire.run_id, fire.decided_at), (Some(run.id), run.finished_at));
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

async fn a_catch_up_past_its_deadline_does_not_run(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:20:00Z")).await;
    let schedule = world
        .schedule("0 * * * *", noop(), |row| {
            row.next_scheduled_at = Some(ms("2026-03-01T10:00:00Z"));
            row.catch_up = CatchUp::All;
            row.overlap = Overlap::Allow;
            // The run for 12:00 is still within its deadline, those for 10:00 and 11:00 are not.
            row.start_deadline_ms = Some(30 * 60_000);
        })
        .await;
    let engine = world.engine().await;
    let fates = world.decided(schedule.id, 3).await;
    let fates: Vec<_> = fates.iter().map(|fire| (fire.verdict, fire.reason)).collect();
    let skipped = (Verdict::Skipped, Reason::Deadline);
    assert_eq!(fates, [skipped, skipped, (Verdict::Started, Reason::CaughtUp)]);
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}
