//! Creation: how many schedules per second can be created through GraphQL.
//!
//! A server runs in a separate process. The callers run in this one, over persistent connections,
//! each with one call at a time. The database's limits are measured beside each round. Every call
//! is its own transaction with the schedule's row, its history and its entry in the audit log; an
//! inline task adds the workflow's row, its definition and a second entry.
//!
//! - `load`: the callers

mod load;

use std::time::Duration;

use anyhow::Result;
use carillon::{
    clock::Clock,
    store::{Options, Store},
};

use self::load::{Load, Manner};
use crate::{
    database::Kind,
    goals,
    limits::Limits,
    place::Place,
    process::Meter,
    server::{self, Server},
    table::{Findings, Table},
};

/// How to measure creation.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Number of seconds for which each way is measured in each round.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// A way to create schedules.
#[derive(Clone, Copy, Debug)]
struct Way {
    name: &'static str,
    callers: usize,
    manner: Manner,
}

/// Number of schedules in one bulk call: the same as the number of rows in a commit when the limits
/// are measured.
const BULK: usize = 500;

const WAYS: [Way; 4] = [
    Way { name: "one a call, 16 callers", callers: 16, manner: Manner::One { own_task: false } },
    Way {
        name: "one a call with a task of its own, 16 callers",
        callers: 16,
        manner: Manner::One { own_task: true },
    },
    Way {
        name: "500 a call, 4 callers",
        callers: 4,
        manner: Manner::Many { count: BULK, own_task: false },
    },
    Way {
        name: "500 a call, each with a task of its own, 4 callers",
        callers: 4,
        manner: Manner::Many { count: BULK, own_task: true },
    },
];

/// The result of one way to create schedules.
#[derive(Clone, Copy, Debug)]
struct Round {
    load: Load,
    cpu: f64,
    limits: Limits,
}

/// Measures all ways to create schedules.
pub(crate) async fn run(arguments: &Arguments) -> Result<Findings> {
    let mut findings = Findings::default();
    let clock = Clock::system();
    for kind in arguments.place.database.kinds() {
        let mut all: Vec<(Way, Vec<Round>)> = WAYS.map(|way| (way, Vec::new())).into();
        let mut before = arguments.place.limits(*kind).await?;
        for number in 1..=arguments.place.rounds {
            let mut loads = Vec::new();
            for (way, _) in &all {
                loads.push(one(arguments, &clock, *kind, *way).await?);
            }
            let after = arguments.place.limits(*kind).await?;
            let limits = Limits::between(before, after);
            for ((way, rounds), (load, cpu)) in all.iter_mut().zip(loads) {
                eprintln!(
                    "round {number}/{}: {} {}: {:.0}/s",
                    arguments.place.rounds,
                    kind.name(),
                    way.name,
                    load.rate
                );
                rounds.push(Round { load, cpu, limits });
            }
            before = after;
        }
        for (way, rounds) in &all {
            findings.add(table(*kind, *way, rounds));
        }
    }
    Ok(findings)
}

#[expect(clippy::cast_precision_loss, reason = "a handful of rows")]
fn table(kind: Kind, way: Way, rounds: &[Round]) -> Table {
    let over = |figure: &dyn Fn(&Round) -> Option<f64>| {
        rounds.iter().filter_map(&figure).collect::<Vec<f64>>()
    };
    let rows = way.manner.rows_each() as f64;
    let mut table = Table::new(format!("{}: schedules made, {}", kind.name(), way.name))
        .line("schedules/s", over(&|one| Some(one.load.rate)))
        .line("rows/s", over(&|one| Some(one.load.rate * rows)))
        .line("p50 of a call, ms", over(&|one| Some(one.load.p50_ms)))
        .line("p99 of a call, ms", over(&|one| Some(one.load.p99_ms)))
        .line("schedules per CPU-s", over(&|one| Some(one.load.rate / one.cpu)));
    table = match (kind, way.manner) {
        (Kind::Postgres, Manner::One { own_task }) => {
            table.line("R1, commits/s", over(&|one| one.limits.r1)).put(
                "schedules/s over R1",
                over(&|one| Some(one.load.rate / one.limits.r1?)),
                (!own_task).then_some(goals::P13),
            )
        }
        (Kind::Postgres, Manner::Many { .. }) => table
            .line("RB, rows/s", over(&|one| one.limits.rb))
            .line("schedules/s over RB", over(&|one| Some(one.load.rate / one.limits.rb?)))
            .goal(
                "rows/s over RB",
                over(&|one| Some(one.load.rate * rows / one.limits.rb?)),
                goals::P14,
            ),
        (Kind::Sqlite, Manner::Many { .. }) => table
            .line("SB, rows/s", over(&|one| one.limits.sb))
            .line("rows/s over SB", over(&|one| Some(one.load.rate * rows / one.limits.sb?))),
        (Kind::Sqlite, Manner::One { .. }) => table,
    };
    table
}

/// Measures one way on a fresh database. Returns its result, and the CPU seconds used per second.
#[expect(clippy::cast_precision_loss, reason = "a count of seconds")]
async fn one(arguments: &Arguments, clock: &Clock, kind: Kind, way: Way) -> Result<(Load, f64)> {
    let fresh = arguments.place.fresh(kind).await?;
    let store = Store::open(&Options::new(&fresh.url)).await?;
    let token = server::token(&store, clock).await?;
    let server = Server::start(clock, &fresh.url, "bench").await?;
    let mut callers = Vec::new();
    for _ in 0..way.callers {
        callers.push(server.caller(&token).await?);
    }
    load::prepare(&mut callers).await?;
    let meter = Meter::of_processes(store.read(), vec![server.pid()]).await?;
    let before = meter.read()?;
    let time = Duration::from_secs(arguments.seconds);
    let load = load::run(clock, callers, way.manner, time).await?;
    let cpu = meter.read()?.since(before).total() / arguments.seconds as f64;
    server.kill().await?;
    load::check(&store, load).await?;
    store.close().await?;
    fresh.drop().await?;
    Ok((load, cpu))
}
