use std::time::Duration;

use anyhow::{Context, Result, ensure};
use carillon::{
    clock::Clock,
    store::{Options, Store},
    target::{Noop, Target},
};
use chrono::{DateTime, SubsecRound, TimeDelta, Timelike, Utc};
use serde::{Deserialize, Serialize};

use super::{tally, watch};
use crate::{
    engine,
    process::{self, Cpu, Meter},
    seed::{self, Timing},
    spread::percentile,
    statements::Statements,
};

/// Arguments of the process that performs one storm. It is separate, so that its memory can be
/// measured on its own.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// An empty, migrated database.
    #[arg(long)]
    url: String,
    /// Number of schedules that are due at one instant.
    #[arg(long)]
    schedules: usize,
    /// The target of the schedules' task, as JSON; by default a no-op.
    #[arg(long)]
    target: Option<String>,
}

/// The result of a storm.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Round {
    /// The seconds from the due instant to the commit that recorded the last completion.
    pub(crate) seconds: f64,
    /// CPU of this process and the database in that time.
    pub(crate) cpu: Cpu,
    /// Peak memory of this process in that time.
    pub(crate) memory_mb: f64,
    /// The number of commits in that time, and of the statements inside them.
    pub(crate) commits: u64,
    pub(crate) statements: u64,
    /// Milliseconds from the due instant to the start, according to the tables.
    pub(crate) first_ms: i64,
    pub(crate) p50_ms: i64,
    pub(crate) p99_ms: i64,
    /// Milliseconds from the due instant to the end of the first handler.
    pub(crate) first_handled_ms: i64,
    /// The due instant.
    pub(crate) due_ms: i64,
}

/// Minimum time between the engine being ready and the storm.
const CALM: Duration = Duration::from_millis(1500);

/// Performs one storm.
pub(crate) async fn run(arguments: &Arguments) -> Result<Round> {
    let count = arguments.schedules;
    let clock = Clock::system();
    let store = Store::open(&Options::new(&arguments.url)).await?;
    let due = due_instant(clock.now(), count);
    // The schedules fire daily after that, so that the claim has to compute a next fire, as it does
    // in production.
    let expression = &format!("{} {} {} * * *", due.second(), due.minute(), due.hour());
    let target = match &arguments.target {
        Some(text) => serde_json::from_str(text).context("--target")?,
        None => Target::Noop(Noop::default()),
    };
    let timing = Timing { expression, due };
    seed::schedules_of(&store, &target, count, timing, clock.now()).await?;

    let statements = Statements::default();
    let engine = engine::start(&statements.watch(&store), &clock).await?;
    let mut planner = engine.planner_reports();
    // After its first round, the planner knows which schedules are due next, and waits for that
    // instant.
    planner.wait_for(|(rounds, _)| *rounds > 0).await?;
    // The observer has its own connection with a prepared query, so that it slows nothing down.
    let aside = Store::open(&Options { connections: 2, ..Options::new(&arguments.url) }).await?;
    watch::is_outstanding(&aside, due.into()).await?;
    let meter = Meter::of(aside.read()).await?;
    let left = (due - clock.now()).to_std().unwrap_or_default();
    ensure!(left >= CALM, "{count} schedules took too long to write: the machine is too busy");

    clock.sleep_until(due - TimeDelta::milliseconds(5)).await;
    process::forget_peak_memory()?;
    clock.sleep_until(due).await;
    let began = watch::moment(&clock, &meter, *store.changes().follow().borrow())?;
    let asked = statements.count();
    let ended = watch::until_recorded(&store, &aside, &clock, &meter, due.into()).await?;
    let statements = statements.count() - asked;
    let memory_mb = process::peak_memory_mb()?;

    tally::check(&store, count).await?;
    let lateness = tally::lateness(&store).await?;
    engine.shutdown(Duration::from_secs(10)).await?;
    aside.close().await?;
    store.close().await?;
    let of_started =
        |percent| percentile(&lateness.started, percent).context("a storm of no schedules");
    Ok(Round {
        seconds: (ended.at - began.at).as_secs_f64(),
        cpu: ended.cpu.since(began.cpu),
        memory_mb,
        commits: ended.commits - began.commits,
        statements,
        first_ms: of_started(0)?,
        p50_ms: of_started(50)?,
        p99_ms: of_started(99)?,
        first_handled_ms: percentile(&lateness.handled, 0).unwrap_or_default(),
        due_ms: due.timestamp_millis(),
    })
}

/// A whole second that leaves time to write `count` schedules first.
fn due_instant(now: DateTime<Utc>, count: usize) -> DateTime<Utc> {
    // The slowest database seen so far writes five per millisecond.
    let writing = Duration::from_millis(count as u64 / 5);
    let ready = now + TimeDelta::from_std(writing + 3 * CALM).unwrap_or_default();
    ready.trunc_subsecs(0) + TimeDelta::seconds(1)
}
