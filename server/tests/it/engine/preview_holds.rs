//! The preview of a resume, by hand or automatic, matches the runs that it starts, whatever the
//! schedule's policies are. Many schedules with random policies are resumed in one world.

use carillon::commands::{ByHand, Call, ResumeChoice};
use entity::{
    Keys, calendar,
    fire::{self, Verdict},
    schedule::{self, CatchUp, Overlap},
};
use sea_orm::{EntityTrait, QueryFilter, QueryOrder, prelude::*};
use serde_json::json;
use tokio_util::task::AbortOnDropHandle;

use super::{
    editing::{ada, commands},
    gate::Gate,
    world::{World, at, ms, noop},
};
use crate::support::{TestDatabase, on_both};

on_both!(
    a_resume_runs_exactly_what_its_preview_says,
    an_automatic_end_runs_exactly_what_its_preview_says,
    a_resume_beside_live_runs_runs_what_its_preview_says,
);

/// The number of cases on each database.
const CASES: u64 = 48;
/// The number of cases with live runs, calendars, jitter and spacing.
const CASES_BESIDE_RUNS: u64 = 32;

pub(super) const OVERLAPS: [Overlap; 6] = [
    Overlap::Skip,
    Overlap::BufferOne,
    Overlap::BufferAll,
    Overlap::CancelOther,
    Overlap::TerminateOther,
    Overlap::Allow,
];
pub(super) const CATCH_UPS: [CatchUp; 3] = [CatchUp::Skip, CatchUp::Latest, CatchUp::All];

/// A small generator: the cases are the same in each run.
pub(super) struct Seeded(pub(super) u64);

impl Seeded {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % limit
    }

    pub(super) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

type Row = (i64, i64, i64, Verdict);

/// A schedule with random policies, paused since 06:30.
fn paused(random: &mut Seeded, overlap: Overlap) -> impl FnOnce(&mut schedule::Model) + use<> {
    let (max, window) = (1 + random.below(12), 1 + random.below(8));
    let max_fires = (random.below(4) == 0).then(|| 1 + random.below(5));
    let deadline = (random.below(4) == 0).then(|| 3_600_000 * (1 + random.below(5)));
    move |row: &mut schedule::Model| {
        row.enabled = false;
        row.paused_at = Some(ms("2026-03-01T06:30:00Z"));
        row.next_scheduled_at = Some(ms("2026-03-01T07:00:00Z"));
        row.overlap = overlap;
        row.buffer_limit = (overlap == Overlap::BufferAll).then_some(2);
        row.catch_up_max = i32::try_from(max).unwrap();
        row.catch_up_window_ms = i64::try_from(window).unwrap() * 3_600_000;
        row.max_fires = max_fires.map(|most| i64::try_from(most).unwrap());
        row.start_deadline_ms = deadline.map(|ms| i64::try_from(ms).unwrap());
    }
}

async fn a_resume_runs_exactly_what_its_preview_says(database: TestDatabase) {
    let (world, _clock) = World::at(database, at("2026-03-01T12:20:00Z")).await;
    let commands = commands(&world);
    let (operator, reader) = (ada().operator().unwrap(), ada().viewer().unwrap());
    let mut random = Seeded(22);
    let mut cases = Vec::new();
    for _ in 0..CASES {
        let overlap = random.one_of(&OVERLAPS);
        let expression = random.one_of(&["*/5 * * * *", "*/20 * * * *", "0 * * * *"]);
        let missed = random.one_of(&CATCH_UPS);
        let plant = paused(&mut random, overlap);
        let schedule = world.schedule(expression, noop(), plant).await;
        let preview = commands.resume_preview(&reader, schedule.id, None, false).await.unwrap();
        let choice = preview.choices.into_iter().find(|choice| choice.missed == missed).unwrap();
        cases.push((schedule.id, missed, overlap, choice));
    }
    let engine = world.engine().await;
    for (schedule, missed, ..) in &cases {
        commands.resume(&operator, *schedule, *missed, &Call::once()).await.unwrap();
    }
    let mut ran = 0;
    for (schedule, missed, overlap, choice) in cases {
        let what = format!("{missed:?} under {overlap:?}");
        ran += holds(&world, schedule, choice, &what).await;
    }
    assert!(ran > 60, "{ran} runs in all");
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}

/// The previews are read ten minutes before the pauses end. No fire is due at that end: it would
/// meet the runs of the pause.
async fn an_automatic_end_runs_exactly_what_its_preview_says(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:09:30Z")).await;
    let (commands, reader) = (commands(&world), ada().viewer().unwrap());
    let until = "2026-03-01T12:19:30Z";
    let mut random = Seeded(46);
    let mut cases = Vec::new();
    for _ in 0..CASES {
        let overlap = random.one_of(&OVERLAPS);
        let expression = random.one_of(&["*/5 * * * *", "*/20 * * * *", "0 * * * *"]);
        let missed = random.one_of(&CATCH_UPS);
        let plant = paused(&mut random, overlap);
        let schedule = world
            .schedule(expression, noop(), |row| {
                plant(row);
                (row.paused_until, row.paused_missed) = (Some(ms(until)), Some(missed));
            })
            .await;
        let preview = commands.pause_end_preview(&reader, schedule.id, at(until)).await.unwrap();
        let choice = preview.choices.into_iter().find(|choice| choice.missed == missed).unwrap();
        cases.push((schedule.id, choice, format!("{missed:?} under {overlap:?}, {expression}")));
    }
    let engine = world.engine().await;
    clock.set(at(until));
    let mut ran = 0;
    for (schedule, choice, what) in cases {
        ran += holds(&world, schedule, choice, &what).await;
    }
    assert!(ran > 60, "{ran} runs in all");
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}

/// Waits until all instants of a schedule's pause are decided, and compares the result with the
/// preview; returns the number of runs.
async fn holds(world: &World, schedule: Uuid, choice: ResumeChoice, what: &str) -> usize {
    let foretold = choice.foreseen;
    let rows = world
        .until("what fell into the pause is decided", async || {
            let rows = fire::Entity::find()
                .filter(fire::Column::ScheduleId.eq(schedule))
                .filter(fire::Column::ScheduledAt.lte(ms("2026-03-01T12:20:00Z")))
                .order_by_asc(fire::Column::ScheduledAt);
            let rows = rows.all(world.database.store.read()).await.unwrap();
            let is_decided = rows.iter().all(|row| row.decided_at.is_some());
            (rows.len() == foretold.rows && is_decided).then_some(rows)
        })
        .await;
    let said: Vec<Row> = foretold
        .fires
        .iter()
        .map(|fire| {
            let verdict =
                if fire.verdict == Verdict::Pending { Verdict::Started } else { fire.verdict };
            (fire.scheduled_at.0, fire.last_scheduled_at.0, fire.count, verdict)
        })
        .collect();
    let happened: Vec<Row> = rows
        .iter()
        .map(|row| (row.scheduled_at.0, row.last_scheduled_at.0, row.count, row.verdict))
        .collect();
    assert_eq!(happened, said, "{what}");
    foretold.runs
}

/// Runs that are live when a schedule is resumed do not keep its fires from running: the fires
/// wait, and run one after the other.
async fn a_resume_beside_live_runs_runs_what_its_preview_says(database: TestDatabase) {
    let (world, clock) = World::at(database, at("2026-03-01T12:20:00Z")).await;
    let commands = commands(&world);
    let (operator, reader) = (ada().operator().unwrap(), ada().viewer().unwrap());
    let windows = json!({ "windows": [{ "from": "09:00", "to": "10:30" }] });
    let calendar = world.calendar("mornings", calendar::Mode::Exclude, windows).await;
    let mut gate = Gate::open().await;
    let engine = world.engine().await;
    let mut random = Seeded(2_022);
    let (mut cases, mut live) = (Vec::new(), Vec::new());
    for _ in 0..CASES_BESIDE_RUNS {
        let (overlap, missed) = (random.one_of(&OVERLAPS), random.one_of(&CATCH_UPS));
        let expression = random.one_of(&["*/10 * * * *", "*/20 * * * *", "0 * * * *"]);
        let (jitter, spacing) = (random.below(120_000), 30_000 * random.below(3));
        let (max, window) = (1 + random.below(6), 1 + random.below(8));
        let (has_calendar, is_live) = (random.below(2) == 0, random.below(3) > 0);
        let schedule = world
            .schedule(expression, gate.task(), |row| {
                row.enabled = false;
                row.paused_at = Some(ms("2026-03-01T06:30:00Z"));
                row.next_scheduled_at = Some(ms("2026-03-01T07:00:00Z"));
                // The schedule ends here: no later fire interferes, and no jitter reaches beyond
                // the resume.
                row.end_at = Some(ms("2026-03-01T12:15:00Z"));
                row.overlap = overlap;
                row.buffer_limit = (overlap == Overlap::BufferAll).then_some(2);
                row.jitter_ms = i64::try_from(jitter).unwrap();
                row.catch_up_spacing_ms = i64::try_from(spacing).unwrap();
                row.catch_up_max = i32::try_from(max).unwrap();
                row.catch_up_window_ms = i64::try_from(window).unwrap() * 3_600_000;
                row.calendars = has_calendar.then(|| Keys(vec![calendar]));
            })
            .await;
        if is_live {
            let by_hand = ByHand::default();
            commands.trigger(&operator, schedule.id, &by_hand, &Call::once()).await.unwrap();
            live.push(gate.arrival().await);
        }
        let preview = commands.resume_preview(&reader, schedule.id, None, false).await.unwrap();
        let choice = preview.choices.into_iter().find(|choice| choice.missed == missed).unwrap();
        let what = format!(
            "{missed:?} under {overlap:?}, {expression}, jitter {jitter}, spacing {spacing}, \
             calendar {has_calendar}, live {is_live}"
        );
        cases.push((schedule.id, missed, choice, what));
    }
    for (schedule, missed, ..) in &cases {
        commands.resume(&operator, *schedule, *missed, &Call::once()).await.unwrap();
    }
    assert!(live.len() > 10, "{} live runs", live.len());
    for arrival in live {
        arrival.answer(200);
    }
    let _answers = AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            gate.arrival().await.answer(200);
        }
    }));
    // By then the last of the spaced fires is due.
    clock.set(at("2026-03-01T12:40:00Z"));
    let mut ran = 0;
    for (schedule, _, choice, what) in cases {
        ran += holds(&world, schedule, choice, &what).await;
    }
    assert!(ran > 20, "{ran} runs in all");
    engine.shutdown(std::time::Duration::from_secs(5)).await.unwrap();
}
