//! The schedules of a simulated world, drawn from tables: a new policy only needs another line.

use carillon::{
    commands::ScheduleWork,
    model::{Definition, Misfire, Spec, Task, Timing, When},
    target::{Noop, Target},
};
use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use entity::{
    calendar::Mode,
    schedule::{CatchUp, DstGap, DstOverlap, Overlap},
};
use rand::{Rng, rngs::StdRng, seq::IndexedRandom};
use timetable::retry;

/// The zones of worlds, each with an instant at which its clock changes. The last zone has no clock
/// changes.
pub(crate) const PLACES: &[(&str, &str)] = &[
    ("Europe/Berlin", "2026-03-29T01:00:00Z"),
    ("Europe/Berlin", "2026-10-25T01:00:00Z"),
    ("America/New_York", "2026-03-08T07:00:00Z"),
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
    ("UTC", "2026-06-01T12:00:00Z"),
];

/// Expressions that fire every few seconds or minutes, or less often. `@at` gets its instant when
/// it is drawn.
const QUICK: &[&str] = &["@every 10s", "@every 30s", "@every 45s"];
const STEADY: &[&str] =
    &["* * * * *", "*/5 * * * *", "*/7 * * * *", "@every 90s", "@every 7m", "0,15,30,45 * * * *"];
const SELDOM: &[&str] = &[
    "0 * * * *",
    "30 2 * * *",
    "15 2 * * *",
    "0,15,30 2 * * *",
    "45 1 * * *",
    "*/30 1-3 * * *",
    "0,15,30,45 1-3 * * *",
    "0 2,3 * * *",
    "@every 1h",
    "@at",
];

const GAPS: &[DstGap] = &[DstGap::Shift, DstGap::Skip];
const OVERLAPS_OF_CLOCK: &[DstOverlap] = &[DstOverlap::First, DstOverlap::Last, DstOverlap::Both];
/// The policies for missed fires, of schedules and of the ends of pauses.
pub(crate) const CATCH_UPS: &[CatchUp] = &[CatchUp::Skip, CatchUp::Latest, CatchUp::All];
/// Overlap policies, each with the maximum number of waiting fires, if it has one.
const OVERLAPS: &[(Overlap, Option<i64>)] = &[
    (Overlap::Skip, None),
    (Overlap::Skip, None),
    (Overlap::BufferOne, None),
    (Overlap::BufferAll, None),
    (Overlap::BufferAll, Some(2)),
    (Overlap::CancelOther, None),
    (Overlap::TerminateOther, None),
    (Overlap::Allow, None),
];

/// The group that some schedules share, and the limit on its runs in progress.
pub(crate) const GROUP: (&str, i64) = ("shared", 2);

/// The limits that operators set for the group.
pub(crate) const LIMITS: &[i64] = &[1, 2, 3, 5];

/// Calendars that suppress fires, each with the index of its first window in [`WINDOWS`].
pub(crate) const CALENDARS: &[(&str, usize)] = &[("night", 0), ("lunch", 1)];

/// The possible windows of a calendar: from one time of the day (inclusive) to another (exclusive).
pub(crate) const WINDOWS: &[(Mode, &str, &str)] = &[
    (Mode::Exclude, "01:30", "02:30"),
    (Mode::Exclude, "12:00", "13:30"),
    (Mode::Exclude, "00:00", "03:15"),
    (Mode::Exclude, "02:00", "02:01"),
    (Mode::Only, "01:00", "23:00"),
];

/// The task's name in schedules with a single task.
pub(crate) const ONLY_TASK: &str = "main";

/// Workflows of several tasks that some schedules run.
pub(crate) const FLOWS: &[&str] = &["diamond", "rescue"];

/// The definition of the workflow of that name.
pub(crate) fn flow(name: &str) -> Definition {
    let task = |name: &str, needs: &[&str], max_attempts: i32| Task {
        needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        timeout_ms: 60_000,
        kill_grace_ms: 1_000,
        retry: retry::Policy { max_attempts, initial_ms: 30_000, ..retry::Policy::default() },
        ..Task::new(name, Target::Noop(Noop::default()))
    };
    match name {
        "diamond" => Definition::of(vec![
            task("start", &[], 1),
            task("left", &["start"], 3),
            task("right", &["start"], 2),
            task("join", &["left", "right"], 1),
        ]),
        "rescue" => Definition {
            timeout_ms: Some(1_800_000),
            max_parallel: 1,
            ..Definition::of(vec![
                Task { allow_failure: true, ..task("attempt", &[], 2) },
                Task { when: When::Failure, ..task("rescue", &["attempt"], 2) },
                Task { when: When::Always, ..task("report", &["attempt", "rescue"], 1) },
            ])
        },
        other => panic!("there is no workflow '{other}'"),
    }
}

/// A schedule and the work that it runs.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) timing: Timing,
    pub(crate) misfire: Misfire,
    pub(crate) overlap: (Overlap, Option<i64>),
    pub(crate) priority: i64,
    pub(crate) max_fires: Option<i64>,
    pub(crate) is_grouped: bool,
    pub(crate) calendar: Option<&'static str>,
    pub(crate) deadline: Option<i64>,
    pub(crate) retry: retry::Policy,
    pub(crate) timeout_ms: i64,
    pub(crate) retention_days: Option<i64>,
    /// The name of a workflow that the schedule runs instead of a task of its own.
    pub(crate) flow: Option<&'static str>,
}

impl Plan {
    /// Draws a plan for a world in `zone` that begins at `start`.
    pub(crate) fn draw(random: &mut StdRng, zone: &str, start: DateTime<Utc>) -> Self {
        let tempo = random.random_range(0..10);
        let table = match tempo {
            0..2 => QUICK,
            2..6 => STEADY,
            _ => SELDOM,
        };
        let mut expressions = vec![expression(random, table, start)];
        if random.random_bool(0.15) {
            expressions.push(expression(random, SELDOM, start));
        }
        let later = |random: &mut StdRng, minutes: i64| {
            (start + TimeDelta::seconds(random.random_range(0..minutes * 60))).trunc_subsecs(0)
        };
        let start_at = random.random_bool(0.15).then(|| later(random, 120));
        let end_at = random.random_bool(0.15).then(|| {
            start_at.unwrap_or(start) + TimeDelta::minutes(random.random_range(10..12 * 60))
        });
        let jitter_seconds = match random.random_range(0..10) {
            0..6 => 0,
            _ => one(random, &[1, 7, 45, 300]),
        };
        let quick = tempo < 2;
        let timing = Timing {
            expressions,
            zone: zone.to_owned(),
            gap: one(random, GAPS),
            overlap: one(random, OVERLAPS_OF_CLOCK),
            start_at,
            end_at,
            jitter_seconds,
        };
        let misfire = Misfire {
            catch_up: one(random, CATCH_UPS),
            grace_seconds: one(random, if quick { &[0, 5, 60] } else { &[0, 5, 60, 300, 900] }),
            max: random.random_range(1..=if quick { 5 } else { 20 }),
            spacing_seconds: one(random, &[0, 0, 1, 30]),
            window_seconds: one(random, &[600, 3_600, 6 * 3_600, 86_400]),
        };
        Self {
            timing,
            misfire,
            overlap: one(random, OVERLAPS),
            priority: one(random, &[0, 0, 5, -5]),
            max_fires: random.random_bool(0.1).then(|| random.random_range(1..30)),
            deadline: random.random_bool(0.2).then(|| one(random, &[5, 60, 600])),
            is_grouped: random.random_bool(0.2),
            calendar: random.random_bool(0.15).then(|| one(random, CALENDARS).0),
            retry: retry::Policy {
                max_attempts: one(random, &[1, 1, 2, 4]),
                initial_ms: one(random, &[0, 1_000, 60_000]),
                ..retry::Policy::default()
            },
            timeout_ms: one(random, &[10_000, 60_000, 3_600_000]),
            retention_days: random.random_bool(0.3).then(|| one(random, &[1, 2])),
            flow: random.random_bool(0.15).then(|| one(random, FLOWS)),
        }
    }

    /// The plan as input of the control plane.
    pub(crate) fn spec(&self, name: &str) -> Spec {
        Spec {
            name: name.to_owned(),
            note: String::new(),
            tags: vec![],
            timing: self.timing.clone(),
            misfire: self.misfire,
            calendars: self.calendar.into_iter().map(str::to_owned).collect(),
            max_fires: self.max_fires,
            overlap: self.overlap.0,
            buffer_limit: self.overlap.1,
            group: self.is_grouped.then(|| GROUP.0.to_owned()),
            priority: self.priority,
            start_deadline_seconds: self.deadline,
            retention_days: self.retention_days,
            context: serde_json::json!({}),
            ping: None,
        }
    }

    /// The work of the schedule.
    pub(crate) fn work(&self) -> ScheduleWork {
        if let Some(name) = self.flow {
            return ScheduleWork::Workflow(name.to_owned());
        }
        ScheduleWork::Task(Box::new(Task {
            timeout_ms: self.timeout_ms,
            kill_grace_ms: 1_000,
            retry: self.retry,
            ..Task::new(ONLY_TASK, Target::Noop(Noop::default()))
        }))
    }
}

fn expression(random: &mut StdRng, table: &[&str], start: DateTime<Utc>) -> String {
    let text = one(random, table);
    if text == "@at" {
        let at = start.trunc_subsecs(0) + TimeDelta::seconds(random.random_range(0..6 * 3_600));
        return format!("@at {}", at.format("%Y-%m-%dT%H:%M:%SZ"));
    }
    text.to_owned()
}

/// A random entry of a table.
pub(crate) fn one<T: Clone>(random: &mut StdRng, table: &[T]) -> T {
    table.choose(random).expect("a table has a line").clone()
}
