//! Idle: the cost of a server with many schedules, none of which is due.
//!
//! The given number of schedules is written into a fresh database, all due in a year. A server in a
//! separate process with its default settings is left alone with them. The scenario measures the
//! memory of the server, and the CPU that it and the database use in a few seconds. It also
//! measures the cost of its two queries: when the next schedule is due, and which schedules are
//! due.
//!
//! Disk space: a million schedules take 0.8 GB on PostgreSQL, 0.5 GB on SQLite.

use std::time::Duration;

use anyhow::Result;
use carillon::{clock::Clock, store::Store};
use chrono::TimeDelta;
use sea_orm::ConnectionTrait;

use crate::{
    database::Kind,
    goals,
    place::Place,
    process::{self, Meter},
    seed::{self, Timing},
    server::Server,
    spread::percentile,
    table::{Findings, Table},
};

/// How to measure an idle server.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Number of stored schedules; may be given several times.
    #[arg(long, default_values_t = [100_000, 1_000_000])]
    stored: Vec<usize>,
    /// Number of seconds to measure.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// The cost of one server.
#[derive(Clone, Copy, Debug)]
struct Round {
    product_percent: f64,
    database_percent: f64,
    memory_mb: f64,
    next_p99_ms: f64,
    claim_p99_ms: f64,
}

/// Time to wait after the start, and after writing a million rows, because both cause further work
/// for a while.
const CALM: Duration = Duration::from_secs(12);
/// How often each query is made.
const QUESTIONS: usize = 300;

/// Measures all sizes.
pub(crate) async fn run(arguments: &Arguments) -> Result<Findings> {
    let mut findings = Findings::default();
    let clock = Clock::system();
    for kind in arguments.place.database.kinds() {
        let mut sizes: Vec<(usize, Vec<Round>)> =
            arguments.stored.iter().map(|stored| (*stored, Vec::new())).collect();
        for number in 1..=arguments.place.rounds {
            for (stored, rounds) in &mut sizes {
                let round = one(arguments, &clock, *kind, *stored).await?;
                eprintln!(
                    "round {number}/{}: {} {stored}: {:.2} % of a core",
                    arguments.place.rounds,
                    kind.name(),
                    round.product_percent + round.database_percent
                );
                rounds.push(round);
            }
        }
        for (stored, rounds) in &sizes {
            findings.add(table(*kind, *stored, rounds));
        }
        if let [(few, some), .., (many, all)] = &sizes[..] {
            let total = |one: &Round| one.product_percent + one.database_percent;
            let ratios = all.iter().zip(some).map(|(many, few)| total(many) / total(few));
            let title = format!("{}: idle with {many} against {few}", kind.name());
            let is_of_goal = (*few, *many) == (100_000, 1_000_000);
            let goal = is_of_goal.then_some(goals::P11_GROWTH);
            findings.add(Table::new(title).put("CPU of both", ratios, goal));
        }
    }
    Ok(findings)
}

fn table(kind: Kind, stored: usize, rounds: &[Round]) -> Table {
    let over = |figure: fn(&Round) -> f64| rounds.iter().map(figure);
    let million = |goal| (stored == 1_000_000).then_some(goal);
    Table::new(format!("{}: idle with {stored} stored", kind.name()))
        .line("product, % of a core", over(|one| one.product_percent))
        .line("database, % of a core", over(|one| one.database_percent))
        .put(
            "both, % of a core",
            over(|one| one.product_percent + one.database_percent),
            million(goals::P11),
        )
        .put("memory of the product, MB", over(|one| one.memory_mb), million(goals::P11_MEMORY))
        .line("when is the next due, p99 ms", over(|one| one.next_p99_ms))
        .line("what is due, p99 ms", over(|one| one.claim_p99_ms))
}

#[expect(clippy::cast_precision_loss, reason = "a count of seconds")]
async fn one(arguments: &Arguments, clock: &Clock, kind: Kind, stored: usize) -> Result<Round> {
    let fresh = arguments.place.fresh(kind).await?;
    let store = fresh.filler().await?;
    let timing = Timing { expression: "0 3 1 1 *", due: clock.now() + TimeDelta::days(365) };
    seed::schedules(&store, stored, timing, clock.now()).await?;
    seed::settle(&store).await?;
    let server = Server::start(clock, &fresh.url, "bench").await?;
    let meter = Meter::of_processes(store.read(), vec![server.pid()]).await?;
    clock.sleep(CALM).await;

    let before = meter.read()?;
    clock.sleep(Duration::from_secs(arguments.seconds)).await;
    let spent = meter.read()?.since(before);
    let memory_mb = process::memory_mb(server.pid())?;
    let (next_p99_ms, claim_p99_ms) = questions(&store, clock).await?;
    server.kill().await?;
    store.close().await?;
    fresh.drop().await?;
    let percent = |seconds: f64| seconds * 100.0 / arguments.seconds as f64;
    Ok(Round {
        product_percent: percent(spent.own),
        database_percent: percent(spent.database),
        memory_mb,
        next_p99_ms,
        claim_p99_ms,
    })
}

/// The durations of two queries: when the next schedule is due, and which ones are due.
async fn questions(store: &Store, clock: &Clock) -> Result<(f64, f64)> {
    let (mut next, mut claim) = (Vec::new(), Vec::new());
    for _ in 0..QUESTIONS {
        let began = clock.instant();
        store.next_due_at(clock.now().into()).await?;
        next.push(began.elapsed());
        let tx = store.begin().await?;
        // The pool prepares the query once for each connection, as in the server.
        tx.execute_unprepared("SELECT 1").await?;
        let began = clock.instant();
        let due = store.lock_due_schedules(&tx, clock.now().into(), None, &[], 500).await?;
        claim.push(began.elapsed());
        anyhow::ensure!(due.is_empty(), "{} schedules are due that should not be", due.len());
        tx.rollback().await?;
    }
    let p99 = |mut times: Vec<Duration>| {
        times.sort_unstable();
        percentile(&times, 99).unwrap_or_default().as_secs_f64() * 1_000.0
    };
    Ok((p99(next), p99(claim)))
}
