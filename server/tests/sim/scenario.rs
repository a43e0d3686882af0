//! The expansion of a seed: a world and a list of events, all drawn before the world begins.
//!
//! An event acts on an object that exists at that point (`pick` is taken modulo the number of
//! objects), so the list stays meaningful if events are removed. Shrinking a failing seed depends
//! on that.

use chrono::{DateTime, TimeDelta, Utc};
use entity::{
    backfill::{self, Mode},
    schedule::CatchUp,
};
use rand::{Rng, SeedableRng, rngs::StdRng};

use super::plan::{CALENDARS, CATCH_UPS, LIMITS, PLACES, Plan, WINDOWS, one};

/// Everything that a seed decides.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) seed: u64,
    pub(crate) nodes: usize,
    pub(crate) start: DateTime<Utc>,
    pub(crate) capacity: usize,
    pub(crate) batch: u64,
    pub(crate) lost_after_seconds: u64,
    /// The number of days for which history is kept, in a world in which days pass.
    pub(crate) kept_days: Option<i64>,
    pub(crate) plans: Vec<Plan>,
    pub(crate) events: Vec<Event>,
    /// How paused schedules are resumed at the end.
    pub(crate) missed: CatchUp,
    /// Whether dead nodes start again at the end. At least one always does.
    pub(crate) revival: bool,
}

/// An event.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// One service of a node executes a round, whether or not it is due.
    Step { node: usize, service: usize },
    /// All due services of a node execute a round. `heed` says whether wake-ups reach them.
    Rounds { node: usize, heed: bool },
    /// An attempt ends.
    End { pick: usize, ending: Ending },
    /// Time passes.
    Pass { ms: u64 },
    /// Time passes until the next service is due.
    Next,
    /// An operator sends a request.
    Order { node: usize, pick: usize, order: Order },
    /// A fault.
    Fault { node: usize, fault: Fault },
}

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Success,
    Failure,
    Timeout,
    /// The attempt was stopped from outside; no event requests this.
    Stopped,
}

/// The requests of operators.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    Create(Box<Plan>),
    /// Edits only the policies, or the timing as well.
    Edit(Box<Plan>, bool),
    Delete,
    /// Pauses until it is resumed, or for that many minutes, and what runs then.
    Pause(Option<(i64, CatchUp)>),
    Resume(CatchUp),
    /// Rolls back by that many versions.
    Rollback(i32),
    Trigger,
    /// Sets another note, tag or priority, which does not affect fires.
    Label(usize),
    SkipNext(i64),
    Purge,
    /// Moves the last fire of the buffer to the front.
    Reorder,
    Backfill(Past),
    /// Pauses one of the open backfills.
    PauseBackfill(usize),
    ResumeBackfill(usize),
    CancelBackfill(usize),
    /// Gives a calendar another window.
    Redraw(usize, usize),
    /// Sets the group's new limit.
    Limit(i64),
    /// Sets the namespace's new retention.
    Keep(Option<i64>),
    /// Deploys a module's file: the schedules that it declares, by number; and whether the module's
    /// other schedules are deleted.
    Deploy(Vec<(usize, Plan)>, bool),
    Cancel(usize),
    Retry(usize),
    /// Repeats a run from its failed task on.
    Rerun(usize),
    /// Plans a maintenance window for all schedules.
    PlanWindow(Ahead),
    /// Cancels one of the windows that are not over.
    CancelWindow(usize),
}

/// A requested maintenance window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    /// In how many minutes it begins.
    pub(crate) minutes: i64,
    /// How many minutes it lasts.
    pub(crate) lasts: i64,
    pub(crate) missed: CatchUp,
}

/// A requested backfill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past {
    /// The beginning of the window, in minutes before the present.
    pub(crate) ago: i64,
    pub(crate) minutes: i64,
    /// The maximum number of fires in the window.
    pub(crate) most: usize,
    pub(crate) mode: Mode,
    pub(crate) order: backfill::Order,
    pub(crate) concurrency: i64,
}

/// The faults of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// The node's process ends, between two steps.
    Crash,
    /// The node is started, if it is down.
    Start,
    /// The node shuts down.
    Leave,
    /// The node freezes, until it thaws.
    Freeze,
    Thaw,
    /// The node's clock is stepped.
    StepClock(i64),
    /// The clocks of all nodes and of the database are stepped.
    StepAll(i64),
    /// After that many more edges of transactions, the strike happens.
    Strike(u32, Strike),
    /// After that many more statements, a statement fails; the flag says whether the error is
    /// transient.
    Break(u32, bool),
}

/// What happens at the edge of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strike {
    /// The database fails; the flag says whether the error is transient.
    Error(bool),
    /// The process ends.
    Crash,
    /// The service waits until its next step, while others proceed.
    Pause,
}

impl Scenario {
    /// Draws the whole scenario of `seed`.
    pub(crate) fn draw(seed: u64) -> Self {
        let random = &mut StdRng::seed_from_u64(seed);
        let (zone, change) = one(random, PLACES);
        let change: DateTime<Utc> = change.parse().expect("an instant");
        let start = change - TimeDelta::milliseconds(random.random_range(0..30 * 3_600_000));
        let nodes = one(random, &[1, 2, 2, 3, 4]);
        let plans = (0..random.random_range(3..=12)).map(|_| Plan::draw(random, zone, start));
        let plans = plans.collect();
        // Some worlds have no faults at all, others have many.
        let trouble = one(random, &[0.0, 0.08, 0.15, 0.25]);
        let count = random.random_range(40..=120);
        let kept_days = random.random_bool(0.25).then(|| one(random, &[1, 1, 2, 45]));
        let draw = |_| Event::draw(random, trouble, kept_days.is_some(), zone, start);
        let events = (0..count).map(draw).collect();
        let mut scenario = Self {
            seed,
            nodes,
            start,
            capacity: one(random, &[1, 2, 5, 512]),
            batch: one(random, &[2, 5, 500]),
            lost_after_seconds: one(random, &[20, 300]),
            kept_days,
            plans,
            events,
            missed: one(random, CATCH_UPS),
            revival: random.random_bool(0.5),
        };
        // Windows are drawn last, so that the other worlds stay as they are.
        if random.random_bool(0.3) {
            scenario.plan_windows(random);
        }
        scenario
    }

    /// Adds requests for maintenance windows, anywhere among the events.
    fn plan_windows(&mut self, random: &mut StdRng) {
        for _ in 0..random.random_range(1..=4) {
            let at = random.random_range(0..=self.events.len());
            let order = if random.random_bool(0.25) {
                Order::CancelWindow(random.random_range(0..60))
            } else {
                Order::PlanWindow(Ahead {
                    minutes: one(random, &[0, 1, 5, 20, 60, 180]),
                    lasts: one(random, &[1, 10, 60, 240]),
                    missed: one(random, CATCH_UPS),
                })
            };
            let node = random.random_range(0..60);
            self.events.insert(at, Event::Order { node, pick: 0, order });
        }
    }
}

impl Scenario {
    /// Whether any of the scenario's runs may have several tasks.
    pub(crate) fn has_flows(&self) -> bool {
        let is_flow = |plan: &Plan| plan.flow.is_some();
        let ordered = |event: &Event| {
            let Event::Order { order, .. } = event else { return false };
            if let Order::Create(plan) | Order::Edit(plan, _) = order {
                return is_flow(plan);
            }
            matches!(order, Order::Deploy(plans, _) if plans.iter().any(|(_, plan)| is_flow(plan)))
        };
        self.plans.iter().any(is_flow) || self.events.iter().any(ordered)
    }

    /// Whether no clock is stepped, so that all clocks always agree.
    pub(crate) fn is_steady(&self) -> bool {
        !self.events.iter().any(|event| {
            let Event::Fault { fault, .. } = event else { return false };
            matches!(fault, Fault::StepClock(_) | Fault::StepAll(_))
        })
    }
}

impl Event {
    fn draw(
        random: &mut StdRng,
        trouble: f64,
        days_pass: bool,
        zone: &str,
        start: DateTime<Utc>,
    ) -> Self {
        let node = random.random_range(0..60);
        if random.random_bool(trouble) {
            return Self::Fault { node, fault: Fault::draw(random) };
        }
        match random.random_range(0..100) {
            0..31 => Self::Rounds { node, heed: random.random_bool(0.5) },
            31..42 => Self::Step { node, service: random.random_range(0..60) },
            42..60 => {
                let ending = one(
                    random,
                    &[Ending::Success, Ending::Success, Ending::Failure, Ending::Timeout],
                );
                Self::End { pick: random.random_range(0..60), ending }
            }
            60..74 => Self::Next,
            74..87 if days_pass && random.random_bool(0.2) => {
                Self::Pass { ms: random.random_range(16 * 60..40 * 60) * 60_000 }
            }
            74..87 => Self::Pass { ms: passing(random) },
            _ => {
                let order = Order::draw(random, zone, start);
                Self::Order { node, pick: random.random_range(0..60), order }
            }
        }
    }
}

/// A random length of time: mostly seconds and minutes, occasionally hours.
fn passing(random: &mut StdRng) -> u64 {
    match random.random_range(0..20) {
        0..8 => random.random_range(1..20_000),
        8..15 => random.random_range(20_000..300_000),
        15..19 => random.random_range(300_000..2_400_000),
        _ => random.random_range(1..8) * 3_600_000,
    }
}

impl Order {
    fn draw(random: &mut StdRng, zone: &str, start: DateTime<Utc>) -> Self {
        let run = random.random_range(0..600);
        match random.random_range(0..36) {
            0..2 => Self::Create(Box::new(Plan::draw(random, zone, start))),
            2..6 => Self::Edit(Box::new(Plan::draw(random, zone, start)), random.random_bool(0.5)),
            6 => Self::Delete,
            7..11 => Self::Pause(
                random
                    .random_bool(0.4)
                    .then(|| (random.random_range(1..120), one(random, CATCH_UPS))),
            ),
            11..14 => Self::Resume(one(random, CATCH_UPS)),
            14 if run % 2 == 0 => Self::Label(run / 2),
            14 => Self::Trigger,
            15 if random.random_bool(0.5) => Self::Purge,
            15 => Self::SkipNext(random.random_range(1..6)),
            16..18 => Self::Cancel(run),
            18 => Self::Retry(run),
            19 => Self::Rerun(run),
            20 => Self::Reorder,
            21 => Self::Rollback(random.random_range(1..4)),
            22..27 => Self::Backfill(Past::draw(random)),
            27 => Self::PauseBackfill(run),
            28 => Self::ResumeBackfill(run),
            29 => Self::CancelBackfill(run),
            30..32 => {
                let calendar = random.random_range(0..CALENDARS.len());
                Self::Redraw(calendar, random.random_range(0..WINDOWS.len()))
            }
            32 => Self::Limit(one(random, LIMITS)),
            33 => Self::Keep(random.random_bool(0.7).then(|| one(random, &[1, 3]))),
            _ => {
                let mut plans: Vec<(usize, Plan)> = Vec::new();
                for number in 0..3 {
                    if random.random_bool(0.6) {
                        plans.push((number, Plan::draw(random, zone, start)));
                    }
                }
                Self::Deploy(plans, random.random_bool(0.6))
            }
        }
    }
}

impl Past {
    fn draw(random: &mut StdRng) -> Self {
        let ago = one(random, &[3, 20, 90, 300, 1_500, 4_000]);
        Self {
            ago,
            minutes: one(random, &[ago, ago, ago / 2 + 1]),
            most: random.random_range(1..=12),
            mode: one(random, &[Mode::Missing, Mode::MissingAndFailed, Mode::All]),
            order: one(random, &[backfill::Order::OldestFirst, backfill::Order::NewestFirst]),
            concurrency: one(random, &[1, 2, 5]),
        }
    }
}

impl Fault {
    fn draw(random: &mut StdRng) -> Self {
        let step = |random: &mut StdRng| {
            let ms = one(random, &[1_000, 60_000, 600_000, 3 * 3_600_000]);
            random.random_range(-ms..=ms)
        };
        let edges = |random: &mut StdRng| random.random_range(0..10);
        match random.random_range(0..32) {
            0..3 => Self::Crash,
            3..9 => Self::Start,
            9 => Self::Leave,
            10..12 => Self::Freeze,
            12..15 => Self::Thaw,
            15 => Self::StepClock(step(random)),
            16..18 => Self::StepAll(step(random)),
            18..22 => Self::Strike(edges(random), Strike::Crash),
            22..25 => Self::Strike(edges(random), Strike::Error(random.random_bool(0.7))),
            25..29 => Self::Strike(edges(random), Strike::Pause),
            _ => Self::Break(random.random_range(0..20), random.random_bool(0.7)),
        }
    }
}
