//! Lists: how long the console's own queries take on a large database.
//!
//! The given number of schedules, and of runs with their fires spread over 44 days, is written into
//! a fresh database. A server in a separate process answers the documents that the console sends,
//! one after the other over one connection. The time is measured from the request's first byte to
//! the answer's last. Before that, the benchmark waits until the server has counted all runs into
//! roll-ups.
//!
//! Disk space: 5 million runs take 5 GB on PostgreSQL, 4 GB on SQLite.
//!
//! - `questions`: the documents and their variables

mod questions;

use std::time::Duration;

use anyhow::{Context, Result};
use carillon::{
    clock::Clock,
    store::{Store, reads::feed::end_of_runs},
};
use chrono::TimeDelta;
use sea_orm::ConnectionTrait;

use crate::{
    database::Kind,
    goals,
    graphql::Caller,
    place::Place,
    seed::{self, Timing},
    server::{self, Server},
    spread::percentile,
    table::{Findings, Table},
};

/// How to measure the lists.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Number of schedules.
    #[arg(long, default_value_t = 100_000)]
    schedules: usize,
    /// Number of runs.
    #[arg(long, default_value_t = 5_000_000)]
    runs: u64,
    /// How often each query is made.
    #[arg(long, default_value_t = 200)]
    times: usize,
    /// Maximum number of seconds for each query.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    #[command(flatten)]
    pub(crate) place: Place,
}

impl Arguments {
    /// Whether the sizes reach those of the goal.
    fn is_of_goal(&self) -> bool {
        self.schedules >= 100_000 && self.runs >= 5_000_000
    }
}

/// Number of days over which the runs are spread.
const DAYS: u32 = 44;

/// How long the server may take to count all runs.
const COUNTED: Duration = Duration::from_secs(1_800);
/// Interval between two checks of how many runs have been counted.
const POLL: Duration = Duration::from_secs(1);

/// Measures all queries on each database.
pub(crate) async fn run(arguments: &Arguments) -> Result<Findings> {
    let mut findings = Findings::default();
    let clock = Clock::system();
    for kind in arguments.place.database.kinds() {
        let began = clock.instant();
        let fresh = arguments.place.fresh(*kind).await?;
        let store = fresh.filler().await?;
        fill(arguments, &store, &clock).await?;
        eprintln!("{}: written in {:.0} s", kind.name(), began.elapsed().as_secs_f64());
        let token = server::token(&store, &clock).await?;
        let server = Server::start(&clock, &fresh.url, "bench").await?;
        counted(&store, &clock).await?;
        eprintln!("{}: counted after {:.0} s", kind.name(), began.elapsed().as_secs_f64());
        let mut caller = server.caller(&token).await?;
        let some = questions::some_schedule(&mut caller).await?;
        let first_page = questions::first_page(&mut caller).await?;
        for question in questions::all(&some, &first_page) {
            let took = ask(arguments, &clock, &mut caller, &question).await;
            let took = took.with_context(|| question.name.to_owned())?;
            findings.add(table(*kind, &question, &took, arguments.is_of_goal()));
        }
        server.kill().await?;
        store.close().await?;
        fresh.drop().await?;
    }
    Ok(findings)
}

async fn fill(arguments: &Arguments, store: &Store, clock: &Clock) -> Result<()> {
    let now = clock.now();
    let timing = Timing { expression: "0 3 * * *", due: now + TimeDelta::days(365) };
    let seeded = seed::schedules(store, arguments.schedules, timing, now).await?;
    let tx = store.begin().await?;
    for statement in [
        "UPDATE schedule SET tags = '[\"team-7\"]' WHERE shard = 7",
        "UPDATE schedule SET enabled = false, paused_at = created_at WHERE shard = 9",
    ] {
        tx.execute_unprepared(statement).await?;
    }
    store.commit(tx).await?;
    seed::runs(store, &seeded, arguments.runs, DAYS, now).await?;
    seed::settle(store).await
}

/// Waits until the roll-ups include all runs.
async fn counted(store: &Store, clock: &Clock) -> Result<()> {
    let (end, start) = (end_of_runs(store).await?, clock.instant());
    while store.counted_until().await?.is_none_or(|counted| counted < end) {
        anyhow::ensure!(start.elapsed() < COUNTED, "roll-ups do not come to their end");
        clock.sleep(POLL).await;
    }
    Ok(())
}

async fn ask(
    arguments: &Arguments,
    clock: &Clock,
    caller: &mut Caller,
    question: &questions::Question,
) -> Result<Vec<f64>> {
    let most = Duration::from_secs(arguments.seconds);
    let start = clock.instant();
    let mut took = Vec::new();
    // The first call is not counted, because caches are cold and no plan is prepared.
    caller.send(&question.body).await?;
    while took.len() < arguments.times && start.elapsed() < most {
        let began = clock.instant();
        caller.send(&question.body).await?;
        took.push(began.elapsed().as_secs_f64() * 1_000.0);
    }
    took.sort_unstable_by(f64::total_cmp);
    Ok(took)
}

fn table(kind: Kind, question: &questions::Question, took: &[f64], is_of_goal: bool) -> Table {
    let of = |percent| percentile(took, percent);
    let goal = |goal| is_of_goal.then_some(goal);
    Table::new(format!("{}: {}", kind.name(), question.name))
        .put("p50, ms", of(50), goal(goals::P19))
        .put("p99, ms", of(99), goal(goals::P19_P99))
        .line("slowest, ms", of(100))
}
