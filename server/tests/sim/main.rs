//! A deterministic simulation of the engine: several nodes on one database, a clock that only the
//! simulation moves, faults, then calm, then the question whether the promises were kept.
//!
//! One number, the seed, decides everything. It is drawn into a scenario (a world and a list of
//! events) before anything happens; keys and delays are drawn from it too (`carillon::random`); and
//! the services are carried on one round at a time, by hand (`carillon::engine::Stepwise`). They
//! are the services of the product: nothing of the engine is written a second time here. What is
//! written a second time, on purpose, is what the engine should have done: the oracle walks the
//! wall clock minute by minute and knows nothing of the calculator.
//!
//! What goes wrong: processes end, between two rounds or at the edge of a transaction - before its
//! commit, or after it, so that the answer is lost; nodes stand still and wake up with what they
//! knew; clocks are stepped, of a node or of all, forward and backward; transactions and statements
//! fail; rounds wait in the middle while others go on. Wake-ups are lost and doubled all the time:
//! rounds come without one, and half of those that were sent reach nobody. In the end nothing goes
//! wrong any more.
//!
//! Meanwhile people order all that they can: schedules made, edited, rolled back, paused, skipped
//! and deleted, runs and buffers touched, backfills ordered, paused and stopped, calendars and
//! limits changed, modules deployed. In some worlds days pass, and retention takes away what is old.
//!
//! What must hold after each step: nothing that was settled or decided changes, epochs only grow,
//! attempts follow one another without gaps, no fire starts a run beside another where that
//! is not allowed, no backfill starts more than it may, nothing is carried out without a row, and
//! nothing is removed that is alive, needed or young. What must hold in the end: every instant of
//! the oracle's expansion is in exactly one row, there or removed, with a final verdict that there
//! can be; nothing is pending or alive; the books of each backfill add up; what is recorded of an
//! attempt is what the world outside saw.
//!
//! To run it: `make sim`, or `SIM_SEED=7 cargo nextest run --test sim`, `SIM_SEEDS=0..1000`. A seed
//! that fails prints its steps, made fewer where the failure stays the same; it belongs into
//! `seeds.txt`.
//!
//! - `plan`: schedules, drawn from tables
//! - `scenario`: worlds and events, drawn from a seed
//! - `world`: a scenario lived through
//! - `node`: the services of a node, carried on by hand; `gate`: its faults
//! - `workshop`: the world outside, where attempts are carried out
//! - `operator`: what people order
//!   - `backfills`: of the past, and what became of it; `module`: files that they deploy
//! - `expectation`: what the ledger must say; `segments`: the parts of a schedule's life; `oracle`:
//!   when it should have fired
//! - `witness`: what must hold after each step, `lives` of nodes; `invariants`: in the end
//!   - `moments`: what was noted of each row and run, as things stood; `truth`: what that says of
//!     verdicts and reasons; `misfires`: of what was late; `order`: of when all that was;
//!     `durations`: of how long it took; `reckoning`: whether the books add up
//! - `removals`: what retention took away, judged and kept; `eras`: what calendars said when;
//!   `pauses`: when schedules were paused
//! - `database`: a database for each seed; `support`: what is borrowed of the integration tests
//! - `runner`: many seeds, and a failing one made smaller

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says so by panicking, its helpers too"
)]

mod backfills;
mod database;
mod durations;
mod eras;
mod expectation;
mod gate;
mod invariants;
mod lives;
mod misfires;
mod module;
mod moments;
mod node;
mod operator;
#[path = "../common/oracle.rs"]
mod oracle;
mod order;
mod pauses;
mod plan;
mod reckoning;
mod removals;
mod runner;
mod scenario;
mod segments;
mod support;
mod truth;
mod witness;
mod workshop;
mod world;

use self::{database::Kind, runner::live_all, scenario::Scenario};

/// So many are lived through when nobody says otherwise.
const SEEDS: u64 = 200;

/// Those that `SIM_SEED` or `SIM_SEEDS` names.
fn wanted() -> Option<Vec<u64>> {
    #[expect(clippy::disallowed_methods, reason = "the tests' own configuration")]
    let given = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    match (given("SIM_SEED"), given("SIM_SEEDS")) {
        (Some(seed), _) => Some(vec![seed.parse().expect("SIM_SEED is a number")]),
        (None, Some(range)) => Some(runner::range(&range).collect()),
        (None, None) => None,
    }
}

/// Those that failed once.
fn failed_once() -> Vec<u64> {
    let lines = include_str!("seeds.txt").lines();
    let seeds = lines.filter_map(|line| line.split('#').next()?.split_whitespace().next());
    seeds.map(|seed| seed.parse().expect("seeds.txt has a number in each line")).collect()
}

#[test]
fn every_seed_keeps_the_promises() {
    let seeds = wanted().unwrap_or_else(|| failed_once().into_iter().chain(0..SEEDS).collect());
    live_all(&seeds, Kind::Sqlite);
}

#[test]
fn some_seeds_keep_the_promises_on_postgres() {
    let seeds = wanted().unwrap_or_else(|| (0..6).collect());
    live_all(&seeds[..seeds.len().min(50)], Kind::Postgres);
}

/// Otherwise a failure could not be seen again.
#[test]
fn a_seed_decides_everything() {
    for seed in 0..5 {
        let scenario = Scenario::draw(seed);
        let (_, one) = runner::live_traced(&scenario, Kind::Sqlite);
        let (_, other) = runner::live_traced(&scenario, Kind::Sqlite);
        assert!(one.len() > 20, "{one:#?}");
        assert_eq!(one, other, "seed {seed}");
    }
}
