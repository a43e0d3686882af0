use std::time::Duration;

use anyhow::{Context, Result, ensure};
use carillon::{
    clock::Clock,
    store::{Options, Store},
};
use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use sea_orm::FromQueryResult;
use serde::{Deserialize, Serialize};

use super::{creator::Creator, probes::Probes};
use crate::{
    engine,
    process::{self, Cpu, Meter},
    seed::{self, Seeded, Timing},
    spread::percentile,
    statements::Statements,
};

/// Arguments of the process that performs a few seconds of steady load.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// An empty, migrated database.
    #[arg(long)]
    url: String,
    /// Another database, for the commit probe.
    #[arg(long)]
    beside: String,
    /// Number of schedules that fire every second.
    #[arg(long)]
    schedules: usize,
    /// Number of seconds.
    #[arg(long)]
    seconds: u32,
    /// Number of other schedules that are stored and not due.
    #[arg(long, default_value_t = 0)]
    stored: usize,
    /// Number of schedules that are created per minute.
    #[arg(long, default_value_t = 0)]
    created: u32,
}

/// The result of the measured seconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Round {
    /// Milliseconds from the due instant to the start, according to the tables.
    pub(crate) p50_ms: i64,
    pub(crate) p99_ms: i64,
    pub(crate) max_ms: i64,
    /// The median of the last quarter minus that of the first quarter. If it is large, the engine
    /// falls behind.
    pub(crate) drift_ms: i64,
    /// The 99th percentile of the timer's delay, measured in the same seconds.
    pub(crate) timer_p99_ms: f64,
    pub(crate) commit_p99_ms: f64,
    /// The CPU used in those seconds, including the probes'.
    pub(crate) cpu: Cpu,
    pub(crate) seconds: u32,
    /// The 99th percentile of the claim statement's duration, in milliseconds.
    pub(crate) claim_p99_ms: f64,
    pub(crate) memory_mb: f64,
}

/// The first ticks warm up connections, statements and caches, and do not count.
const WARM: TimeDelta = TimeDelta::seconds(3);
/// A fire that is not recorded this long after its due instant fails the measurement.
const LIMIT: Duration = Duration::from_secs(30);
/// How often to check whether everything is recorded.
const POLL: Duration = Duration::from_millis(100);

/// Performs a few seconds of steady load.
pub(crate) async fn run(arguments: &Arguments) -> Result<Round> {
    let clock = Clock::system();
    let store = Store::open(&Options::new(&arguments.url)).await?;
    let seeded = idle(&store, &clock, arguments.stored).await?;
    let writing = TimeDelta::milliseconds(i64::try_from(arguments.schedules)? + 1_500);
    let due = (clock.now() + writing).trunc_subsecs(0) + TimeDelta::seconds(1);
    let timing = Timing { expression: "* * * * * *", due };
    seed::more(&store, &seeded, "tick", arguments.schedules, timing, clock.now()).await?;
    seed::analyze(&store).await?;
    let statements = Statements::default();
    let watched = statements.watch(&store);
    let engine = engine::start(&watched, &clock).await?;

    let from = due + WARM;
    let until = from + TimeDelta::seconds(arguments.seconds.into());
    clock.sleep_until(from - TimeDelta::milliseconds(500)).await;
    let probes = Probes::start(&clock, &arguments.beside).await?;
    let meter = Meter::of(store.read()).await?;
    clock.sleep_until(from).await;
    statements.forget_claims();
    process::forget_peak_memory()?;
    let before = meter.read()?;
    let creator = Creator::start(&store, &clock, arguments.created);
    clock.sleep_until(until).await;
    let cpu = meter.read()?.since(before);
    let (claim_p99_ms, memory_mb) = (statements.claim_p99_ms(), process::peak_memory_mb()?);
    creator.stop().await?;
    let found = probes.stop().await?;

    let expected = arguments.schedules * usize::try_from(arguments.seconds)?;
    let late = recorded(&store, &clock, from, until, expected).await?;
    engine.shutdown(Duration::from_secs(10)).await?;
    store.close().await?;
    let quarter = expected.div_ceil(4);
    let drift = median(&late[expected - quarter..])? - median(&late[..quarter])?;
    let mut sorted = late;
    sorted.sort_unstable();
    let of = |percent| percentile(&sorted, percent).context("no schedules, no lateness");
    Ok(Round {
        p50_ms: of(50)?,
        p99_ms: of(99)?,
        max_ms: of(100)?,
        drift_ms: drift,
        timer_p99_ms: found.timer_p99_ms,
        commit_p99_ms: found.commit_p99_ms,
        cpu,
        seconds: arguments.seconds,
        claim_p99_ms,
        memory_mb,
    })
}

/// Writes schedules that are only stored: they fire in a year at the earliest.
async fn idle(store: &Store, clock: &Clock, stored: usize) -> Result<Seeded> {
    let seeded = seed::begin(store, clock.now()).await?;
    let timing = Timing { expression: "0 3 1 1 *", due: clock.now() + TimeDelta::days(365) };
    seed::more(store, &seeded, "idle", stored, timing, clock.now()).await
}

fn median(late: &[i64]) -> Result<i64> {
    let mut sorted = late.to_vec();
    sorted.sort_unstable();
    percentile(&sorted, 50).context("no fires, no median")
}

/// Waits until all fires that are due from the first instant up to but not including the second
/// have succeeded. Returns the lateness of each in milliseconds, in chronological order.
async fn recorded(
    store: &Store,
    clock: &Clock,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
    expected: usize,
) -> Result<Vec<i64>> {
    #[derive(FromQueryResult)]
    struct LateFire {
        late: i64,
    }
    let start = clock.instant();
    loop {
        let statement = store.dialect().statement(
            "SELECT run.started_at - run.due_at AS late FROM run \
             JOIN fire ON fire.id = run.fire_id AND fire.verdict = 'started' \
             WHERE run.due_at >= $1 AND run.due_at < $2 AND run.state = 'succeeded' \
             ORDER BY run.due_at",
            [from.timestamp_millis().into(), until.timestamp_millis().into()],
        );
        let rows = LateFire::find_by_statement(statement).all(store.read()).await?;
        ensure!(rows.len() <= expected, "{} fires of {expected}: some twice", rows.len());
        if rows.len() == expected {
            return Ok(rows.into_iter().map(|row| row.late).collect());
        }
        ensure!(start.elapsed() < LIMIT, "{} fires of {expected}: some are lost", rows.len());
        clock.sleep(POLL).await;
    }
}
