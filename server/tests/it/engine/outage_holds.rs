//! The preview of an outage matches what the engine does when it starts again, whatever the
//! schedule's policies are. Many schedules with random policies sit out one outage.

use entity::{
    Keys, calendar,
    fire::Verdict,
    schedule::{self, Overlap},
};
use sea_orm::prelude::*;
use serde_json::json;

use super::{
    editing::{ada, commands},
    preview_holds::{CATCH_UPS, OVERLAPS, Seeded},
    world::{World, at, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(an_outage_ends_exactly_as_its_preview_says);

/// The number of cases on each database.
const CASES: u64 = 64;
const FROM: &str = "2026-03-01T06:30:00Z";
const TO: &str = "2026-03-01T12:20:00Z";

type Row = (i64, i64, i64, Verdict);

/// A schedule, the rows that its preview promises, and what it is about.
struct Case {
    schedule: Uuid,
    promised: Vec<Row>,
    runs: usize,
    is_spaced: bool,
    what: String,
}

/// A schedule with random policies. Fires that a deadline could skip later are never spaced.
fn random_policies(
    random: &mut Seeded,
    calendar: Uuid,
) -> impl FnOnce(&mut schedule::Model) + use<> {
    let (overlap, catch_up) = (random.one_of(&OVERLAPS), random.one_of(&CATCH_UPS));
    let (max, window) = (1 + random.below(12), 1 + random.below(8));
    let grace = random.one_of(&[0, 60_000, 1_800_000]);
    let max_fires = (random.below(4) == 0).then(|| 1 + random.below(5));
    let deadline = (random.below(4) == 0).then(|| 3_600_000 * (1 + random.below(5)));
    let spacing = if deadline.is_none() { 30_000 * random.below(3) } else { 0 };
    // An instant at the end of the outage is on time, unless its jitter delays it.
    let (has_calendar, ends_before) = (random.below(3) == 0, random.below(2) == 0);
    let jitter = if ends_before { random.below(120_000) } else { 0 };
    let end = if ends_before { "2026-03-01T12:15:00Z" } else { "2026-03-01T12:20:01Z" };
    move |row: &mut schedule::Model| {
        row.catch_up = catch_up;
        row.grace_ms = grace;
        row.catch_up_max = i32::try_from(max).unwrap();
        row.catch_up_window_ms = i64::try_from(window).unwrap() * 3_600_000;
        row.catch_up_spacing_ms = i64::try_from(spacing).unwrap();
        row.overlap = overlap;
        row.buffer_limit = (overlap == Overlap::BufferAll).then_some(2);
        row.max_fires = max_fires.map(|most| i64::try_from(most).unwrap());
        row.start_deadline_ms = deadline.map(|ms| i64::try_from(ms).unwrap());
        row.jitter_ms = i64::try_from(jitter).unwrap();
        row.calendars = has_calendar.then(|| Keys(vec![calendar]));
        row.end_at = Some(at(end).into());
    }
}

async fn an_outage_ends_exactly_as_its_preview_says(database: TestDatabase) {
    let (world, clock) = World::at(database, at(FROM)).await;
    let (commands, reader) = (commands(&world), ada().viewer().unwrap());
    let windows = json!({ "windows": [{ "from": "09:00", "to": "10:30" }] });
    let calendar = world.calendar("mornings", calendar::Mode::Exclude, windows).await;
    let mut random = Seeded(1_025);
    let mut cases = Vec::new();
    for _ in 0..CASES {
        let expression = random.one_of(&["*/10 * * * *", "*/20 * * * *", "0 * * * *"]);
        let policies = random_policies(&mut random, calendar);
        let row = world.schedule(expression, noop(), policies).await;
        let compared = [row.catch_up];
        let rows = [row.clone()];
        let previews =
            commands.outage_preview(&reader, world.namespace, &rows, at(FROM), at(TO), &compared);
        let mut outage = previews.await.unwrap().remove(&row.id).unwrap();
        let effect = outage.effects.pop().unwrap();
        assert!(outage.is_complete);
        assert_eq!(effect.fires.len(), effect.rows, "so few rows are all listed");
        let promised = effect.fires.iter().map(|fire| {
            let verdict = in_the_end(fire.verdict);
            (fire.scheduled_at.0, fire.last_scheduled_at.0, fire.count, verdict)
        });
        cases.push(Case {
            schedule: row.id,
            promised: promised.collect(),
            runs: usize::try_from(effect.late + effect.on_time).unwrap(),
            is_spaced: row.catch_up_spacing_ms > 0,
            what: format!(
                "{:?} under {:?}, {expression}, {} ms of grace, {:?}",
                row.catch_up, row.overlap, row.grace_ms, effect.fires
            ),
        });
    }
    clock.set(at(TO));
    let engine = world.engine().await;
    let (spaced, others): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| case.is_spaced);
    for case in &spaced {
        claimed(&world, case, false).await;
    }
    let mut runs = 0;
    for case in &others {
        runs += claimed(&world, case, true).await;
    }
    // By then the last of the spaced fires is due.
    clock.set(at("2026-03-01T12:40:00Z"));
    for case in &spaced {
        runs += claimed(&world, case, true).await;
    }
    assert!(runs > 60 && !spaced.is_empty(), "{runs} runs in all");
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}

/// Waits until all instants of a case have a row, and their final verdict if they are to be
/// `decided`; then they must be as promised. Returns the number of runs.
async fn claimed(world: &World, case: &Case, decided: bool) -> usize {
    let rows = world
        .until("what fell into the outage is decided", async || {
            let rows = world.ledger(case.schedule).await;
            let is_decided = rows.iter().all(|row| row.decided_at.is_some());
            (rows.len() >= case.promised.len() && (is_decided || !decided)).then_some(rows)
        })
        .await;
    let happened = rows.iter().map(|row| {
        let verdict = if decided { row.verdict } else { in_the_end(row.verdict) };
        (row.scheduled_at.0, row.last_scheduled_at.0, row.count, verdict)
    });
    let happened: Vec<Row> = happened.collect();
    assert_eq!(happened, case.promised, "{}", case.what);
    case.runs
}

/// The final verdict of a fire that is claimed.
fn in_the_end(verdict: Verdict) -> Verdict {
    if verdict == Verdict::Pending { Verdict::Started } else { verdict }
}
