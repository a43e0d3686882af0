//! A deterministic simulation of the engine: several nodes on one database, and a clock that only
//! the simulation moves. First faults occur, then all is calm, and then the simulation checks
//! whether the promises were kept.
//!
//! A single number, the seed, decides everything. It is expanded into a scenario (a world and a
//! list of events) before anything happens. Keys and delays are drawn from it as well
//! (`carillon::random`), and the services are executed one round at a time, by hand
//! (`carillon::engine::Stepwise`). The services are the real ones; no part of the engine is
//! reimplemented here. Only the expected result is computed a second time, on purpose: the oracle
//! walks the wall clock minute by minute, and shares no code with the calculator.
//!
//! The faults: processes end, between two rounds or at the edge of a transaction, either before its
//! commit or after it, so that the answer is lost. Nodes freeze, and wake up with outdated
//! knowledge. Clocks are stepped, of one node or of all, forward and backward. Transactions and
//! statements fail. Rounds wait in the middle while others proceed. Wake-ups are always unreliable:
//! rounds come without one, and half of those sent have no effect. At the end there are no more
//! faults.
//!
//! Meanwhile operators use every command: they create, edit, roll back, pause, skip and delete
//! schedules, change runs and buffers, request, pause and cancel backfills, change calendars and
//! limits, and deploy modules. In some worlds days pass, and retention removes old history.
//!
//! After each step: nothing that was settled or decided changes, epochs only grow, attempts follow
//! one another without gaps, no fire starts a run beside another where that is not permitted, no
//! backfill starts more than it may, nothing is executed without a row, and nothing is removed that
//! is live, needed or young. At the end: every instant of the oracle's expansion is in exactly one
//! row, present or removed, with a valid final verdict; nothing is pending or live; the counts of
//! each backfill add up; the record of each attempt matches that of the outside world; and the
//! check of the ledger (`carillon verify`) finds no difference that this does not explain.
//!
//! To run the simulation: `make sim`, or `SIM_SEED=7 cargo nextest run --test sim`, or
//! `SIM_SEEDS=0..1000`. A failing seed prints its steps, shrunk as far as the failure stays the
//! same; add the seed to `seeds.txt`.
//!
//! - `plan`: schedules, drawn from tables
//! - `scenario`: worlds and events, drawn from a seed
//! - `world`: executes a scenario
//! - `node`: the services of a node, executed by hand; `gate`: its faults
//! - `workshop`: the outside world, where attempts are executed
//! - `operator`: the requests of operators
//!   - `backfills`: backfills and their results; `module`: the files that they deploy
//! - `expectation`: what the ledger must say; `segments`: the parts of a schedule's life; `oracle`:
//!   when it should have fired
//! - `witness`: what must hold after each step, `lives` of nodes; `invariants`: in the end
//!   - `moments`: the recorded states of each row and run; `truth`: whether verdicts and reasons
//!     match them; `misfires`: of late instants; `order`: the order in time; `durations`: how long
//!     things took; `reckoning`: whether the counts add up; `proof`: whether the check of the
//!     ledger finds nothing else
//! - `removals`: what retention removed, checked and kept; `eras`: what calendars said when;
//!   `pauses`: when schedules were paused; `windows`: maintenance windows
//! - `database`: a database for each seed; `support`: what is shared with the integration tests
//! - `runner`: executes many seeds, and shrinks a failing one

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
mod proof;
mod reckoning;
mod removals;
mod runner;
mod scenario;
mod segments;
mod support;
mod truth;
mod windows;
mod witness;
mod workshop;
mod world;

use self::{database::Kind, runner::live_all, scenario::Scenario};

/// The number of seeds by default: `SIM_WORLDS`, or else 120.
fn seeds() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the tests' own configuration")]
    let given = std::env::var("SIM_WORLDS");
    given.map_or(120, |number| number.parse().expect("SIM_WORLDS is a number"))
}

/// The seeds that `SIM_SEED` or `SIM_SEEDS` names.
fn wanted() -> Option<Vec<u64>> {
    #[expect(clippy::disallowed_methods, reason = "the tests' own configuration")]
    let given = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    match (given("SIM_SEED"), given("SIM_SEEDS")) {
        (Some(seed), _) => Some(vec![seed.parse().expect("SIM_SEED is a number")]),
        (None, Some(range)) => Some(runner::range(&range).collect()),
        (None, None) => None,
    }
}

/// The seeds that once failed.
fn failed_once() -> Vec<u64> {
    let lines = include_str!("seeds.txt").lines();
    let seeds = lines.filter_map(|line| line.split('#').next()?.split_whitespace().next());
    seeds.map(|seed| seed.parse().expect("seeds.txt has a number in each line")).collect()
}

#[test]
fn every_seed_keeps_the_promises() {
    let seeds = wanted().unwrap_or_else(|| failed_once().into_iter().chain(0..seeds()).collect());
    live_all(&seeds, Kind::Sqlite);
}

#[test]
fn some_seeds_keep_the_promises_on_postgres() {
    let seeds = wanted().unwrap_or_else(|| (0..6).collect());
    live_all(&seeds[..seeds.len().min(50)], Kind::Postgres);
}

/// Without this, a failure could not be reproduced.
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
