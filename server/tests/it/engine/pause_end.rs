//! Pauses that end automatically, and run what was chosen with them.

use std::time::Duration;

use carillon::engine::Engine;
use entity::{
    fire::{Reason, Verdict},
    schedule::{CatchUp, Overlap},
};
use timetable::misfire;

use super::{
    pause::{fates, paused, resume, row},
    world::{at, ms},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    the_latest_fire_of_a_pause_runs_at_its_end_if_that_was_chosen,
    all_fires_of_a_pause_run_at_its_end_if_that_was_chosen,
    an_end_that_is_processed_late_makes_up_for_the_pause_alone,
    a_resume_by_hand_chooses_anew,
);

/// The fates of these hours.
fn alike(
    hours: impl Iterator<Item = i64>,
    verdict: Verdict,
    reason: Reason,
) -> Vec<(i64, Verdict, Reason)> {
    hours.map(|hour| (hour, verdict, reason)).collect()
}

async fn stop(engine: Engine) {
    engine.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The fire at the very end of the pause is not one of its fires.
async fn the_latest_fire_of_a_pause_runs_at_its_end_if_that_was_chosen(database: TestDatabase) {
    let (world, clock, schedule) = paused(database, "0 * * * *", |row| {
        row.paused_until = Some(ms("2026-03-01T14:00:00Z"));
        row.paused_missed = Some(CatchUp::Latest);
        row.overlap = Overlap::Allow;
    })
    .await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T14:00:00Z"));
    world.settled(schedule.id, 2).await;
    let mut expected = alike(7..13, Verdict::Collapsed, Reason::Paused);
    expected.push((13, Verdict::Started, Reason::CaughtUp));
    expected.push((14, Verdict::Started, Reason::OnTime));
    assert_eq!(fates(&world, &schedule).await, expected);
    let after = row(&world, &schedule).await;
    assert_eq!((after.enabled, after.paused_until, after.paused_missed), (true, None, None));
    stop(engine).await;
}

async fn all_fires_of_a_pause_run_at_its_end_if_that_was_chosen(database: TestDatabase) {
    let (world, clock, schedule) = paused(database, "0 * * * *", |row| {
        row.paused_until = Some(ms("2026-03-01T14:30:00Z"));
        row.paused_missed = Some(CatchUp::All);
        row.overlap = Overlap::Allow;
        row.catch_up_max = 3;
    })
    .await;
    let engine = world.engine().await;
    clock.set(at("2026-03-01T14:30:00Z"));
    world.settled(schedule.id, 3).await;
    let mut expected = alike(7..12, Verdict::Skipped, Reason::Paused);
    expected.extend(alike(12..15, Verdict::Started, Reason::CaughtUp));
    assert_eq!(fates(&world, &schedule).await, expected);
    stop(engine).await;
}

/// The only node was down from before the end of the pause until hours after that.
async fn an_end_that_is_processed_late_makes_up_for_the_pause_alone(database: TestDatabase) {
    let (world, _clock, schedule) = paused(database, "0 * * * *", |row| {
        row.paused_until = Some(ms("2026-03-01T09:00:00Z"));
        row.paused_missed = Some(CatchUp::All);
        row.overlap = Overlap::Allow;
    })
    .await;
    let engine = world.engine().await;
    world.settled(schedule.id, 3).await;
    let mut expected = alike(7..9, Verdict::Started, Reason::CaughtUp);
    expected.extend(alike(9..12, Verdict::Collapsed, Reason::Outage));
    expected.push((12, Verdict::Started, Reason::CaughtUp));
    assert_eq!(fates(&world, &schedule).await, expected);
    stop(engine).await;
}

async fn a_resume_by_hand_chooses_anew(database: TestDatabase) {
    let (world, _clock, schedule) = paused(database, "0 * * * *", |row| {
        row.paused_until = Some(ms("2026-03-01T14:30:00Z"));
        row.paused_missed = Some(CatchUp::All);
    })
    .await;
    resume(&world, &schedule, misfire::CatchUp::Skip).await;
    let skipped = alike(7..13, Verdict::Skipped, Reason::Paused);
    assert_eq!(fates(&world, &schedule).await, skipped);
    assert_eq!(row(&world, &schedule).await.paused_missed, None);
}
