use super::{Arguments, Measured};
use crate::{database::Kind, goals, report::heading, table::Table};

/// If a lag has grown by less than this over the whole time, it counts as stable.
const DRIFT_MS: i64 = 100;

/// The duration that the goal requires.
const GOAL_SECONDS: u32 = 600;
/// The number of stored schedules in the goal, and how many of them are created per minute.
const GOAL_STORED: usize = 30_000_000;
const GOAL_CREATED: u32 = 5_000;

/// Prints all measurements.
pub(crate) fn print(arguments: &Arguments, all: &[Measured]) {
    heading(arguments.rounds, all.iter().map(|one| one.load));
    for kind in [Kind::Postgres, Kind::Sqlite] {
        let of = |count: usize, stored: usize| {
            let is_it = move |one: &&Measured| {
                one.database == kind && one.schedules == count && one.stored == stored
            };
            all.iter().filter(is_it).collect::<Vec<_>>()
        };
        for (count, stored) in arguments.sizes() {
            let rounds = of(count, stored);
            if !rounds.is_empty() {
                steady(kind, count, &rounds).print();
            }
        }
        for count in &arguments.schedules {
            let mut sizes = arguments.stored.clone();
            sizes.sort_unstable();
            if let [few, .., many] = sizes[..] {
                let is_of_goal = (few, many) == (100_000, GOAL_STORED)
                    && *count == 1_000
                    && arguments.created == GOAL_CREATED;
                crowd(kind, few, &of(*count, few), many, &of(*count, many), is_of_goal);
            }
        }
    }
}

/// Adds the effect of many stored schedules on those that fire.
#[expect(clippy::cast_precision_loss, reason = "milliseconds")]
fn crowd(
    kind: Kind,
    few: usize,
    some: &[&Measured],
    many: usize,
    all: &[&Measured],
    is_of_goal: bool,
) {
    if some.is_empty() || all.is_empty() {
        return;
    }
    let late = |one: &Measured| one.round.p99_ms as f64;
    let ratios = all.iter().zip(some).map(|(many, few)| late(many) / late(few).max(1.0));
    Table::new(format!("{}: {many} stored against {few}", kind.name()))
        .put("p99 lateness, one over the other", ratios, is_of_goal.then_some(goals::P12))
        .put(
            "claim statement p99, ms",
            all.iter().map(|one| one.round.claim_p99_ms),
            is_of_goal.then_some(goals::P12_CLAIM),
        )
        .print();
}

#[expect(clippy::cast_precision_loss, reason = "counts of schedules and milliseconds")]
fn steady(kind: Kind, count: usize, rounds: &[&Measured]) -> Table {
    let over = |figure: fn(&Measured) -> f64| rounds.iter().map(move |one| figure(one));
    let share = |one: &Measured| {
        one.round.p99_ms as f64 / (one.round.timer_p99_ms + one.round.commit_p99_ms)
    };
    let fires = |one: &Measured| one.schedules as f64 * f64::from(one.round.seconds);
    let hundred = |goal| (count == 100).then_some(goal);
    let held = match kind {
        Kind::Postgres => goals::P9_POSTGRES,
        Kind::Sqlite => goals::P9_SQLITE,
    };
    let stored = rounds.first().map_or(0, |one| one.stored);
    // Only a long measurement can show that a lag does not grow.
    let is_long = count > 100 && rounds.iter().all(|one| one.round.seconds >= GOAL_SECONDS);
    let beside = if stored > 0 { format!(", {stored} others stored") } else { String::new() };
    Table::new(format!("{}: {count} schedules every second{beside}", kind.name()))
        .put("p50 started, ms late", over(|one| one.round.p50_ms as f64), hundred(goals::P10))
        .line("p99 started, ms late", over(|one| one.round.p99_ms as f64))
        .line("latest started, ms late", over(|one| one.round.max_ms as f64))
        .line("timer p99, ms late", over(|one| one.round.timer_p99_ms))
        .line("commit p99, ms", over(|one| one.round.commit_p99_ms))
        .put("p99 over timer and commit", over(share), hundred(goals::P10_SHARE))
        .line("last quarter over first, ms", over(|one| one.round.drift_ms as f64))
        .put(
            "held, each tick there, no growing lag",
            over(|one| if one.round.drift_ms < DRIFT_MS { one.schedules as f64 } else { 0.0 }),
            (is_long && stored == 0).then_some(held),
        )
        .line("exec per CPU-s", rounds.iter().map(|one| fires(one) / one.round.cpu.total()))
        .line("claim statement p99, ms", over(|one| one.round.claim_p99_ms))
        .line("peak memory, MB", over(|one| one.round.memory_mb))
}
