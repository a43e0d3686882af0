//! Runs that worker processes pull, in a storm compared with one of no-ops, and every second.

use std::{collections::HashSet, ops::Range, time::Duration};

use anyhow::{Context, Result, ensure};
use carillon::{
    clock::Clock,
    store::{Options, Store},
};
use chrono::{SubsecRound, TimeDelta, Timelike};
use serde_json::json;

use super::Arguments;
use crate::{
    database::{Fresh, Kind},
    goals,
    process::{Cpu, Meter},
    puller::{self, Handled, Puller},
    seed::{self, Timing},
    server::{self, Server},
    spread::percentile,
    storm::{self, Round, tally, watch},
    table::Table,
};

/// Number of worker processes.
const WORKERS: usize = 4;
/// How long a server and its workers need until they are ready.
const CALM: TimeDelta = TimeDelta::seconds(6);
/// How long the workers may take to register.
const PATIENCE: Duration = Duration::from_secs(30);
/// A storm that takes longer is a failure.
const LIMIT: Duration = Duration::from_secs(180);
/// The interval between two polls of the database, because the server's commits cannot be observed
/// here. It is long enough to cost little.
const POLL: Duration = Duration::from_millis(25);
/// The first ticks warm up connections, statements and caches, and do not count.
const WARM: TimeDelta = TimeDelta::seconds(3);
/// The maximum delay for which late jobs are waited for.
const LATEST: Duration = Duration::from_secs(5);

/// A server and its workers.
struct Crew {
    store: Store,
    server: Server,
    workers: Vec<Puller>,
}

impl Crew {
    /// Starts a server and workers on a database with schedules.
    async fn start(arguments: &Arguments, clock: &Clock, url: &str, store: Store) -> Result<Self> {
        let server = Server::start(clock, url, "bench").await?;
        let token = server::token(&store, clock).await?;
        let start = |_| Puller::start(server.address(), &token, arguments.worker_capacity);
        let workers: Vec<Puller> = (0..WORKERS).map(start).collect::<Result<_>>()?;
        let mut caller = server.caller(&token).await?;
        let began = clock.instant();
        loop {
            let answer = caller.ask("{ workers { id } }", &json!({})).await?;
            if answer["workers"].as_array().map_or(0, Vec::len) == WORKERS {
                return Ok(Self { store, server, workers });
            }
            ensure!(began.elapsed() < PATIENCE, "the workers do not register: {answer}");
            clock.sleep(POLL).await;
        }
    }

    /// The CPU time of the server, the database and the workers.
    async fn meters(&self) -> Result<(Meter, Meter)> {
        let server = Meter::of_processes(self.store.read(), vec![self.server.pid()]).await?;
        let pids = self.workers.iter().map(Puller::pid).collect();
        Ok((server, Meter::of_processes(self.store.read(), pids).await?))
    }

    /// Stops the workers, and returns all jobs that they received.
    async fn stop(self) -> Result<Vec<Handled>> {
        let mut handled = Vec::new();
        for worker in self.workers {
            handled.extend(worker.stop().await?);
        }
        self.server.kill().await?;
        self.store.close().await?;
        Ok(handled)
    }
}

/// The result of one storm.
struct Storm {
    seconds: f64,
    cpu: Cpu,
    workers_cpu: f64,
    p50_ms: f64,
    p99_ms: f64,
}

/// Measures a storm that workers execute, compared with one of no-ops.
#[expect(clippy::cast_precision_loss, reason = "a count of jobs")]
pub(super) async fn storms(arguments: &Arguments, kind: Kind) -> Result<Table> {
    let mut rounds: Vec<(Round, Storm)> = Vec::new();
    for _ in 0..arguments.place.rounds {
        let fresh = arguments.place.fresh(kind).await?;
        let nothing = storm::one(fresh, arguments.jobs, None).await?;
        let pulled = storm(arguments, arguments.place.fresh(kind).await?).await?;
        eprintln!("{}: {} jobs in {:.2} s", kind.name(), arguments.jobs, pulled.seconds);
        rounds.push((nothing, pulled));
    }
    let n = arguments.jobs as f64;
    let of = |figure: fn(&(Round, Storm)) -> f64| rounds.iter().map(figure);
    let title = format!("{}: storm of {} jobs for {WORKERS} workers", kind.name(), arguments.jobs);
    Ok(Table::new(title)
        .line("jobs/s, each noted by a worker", of(|(_, s)| s.seconds).map(|s| n / s))
        .line("exec/s of a storm of nothing", of(|(round, _)| round.seconds).map(|s| n / s))
        .goal("the one over the other", of(|(none, s)| none.seconds / s.seconds), goals::P26)
        .line("jobs per CPU-s", of(|(_, storm)| storm.cpu.total()).map(|cpu| n / cpu))
        .line("over that of nothing", of(|(none, s)| none.cpu.total() / s.cpu.total()))
        .line(
            "CPU ms of the workers for each",
            of(|(_, s)| s.workers_cpu * 1_000.0).map(|ms| ms / n),
        )
        .line("p50 handled, ms late", of(|(_, storm)| storm.p50_ms))
        .line("p99 handled, ms late", of(|(_, storm)| storm.p99_ms)))
}

/// Performs one storm, in which nothing may be lost or duplicated.
async fn storm(arguments: &Arguments, fresh: Fresh) -> Result<Storm> {
    let (clock, count) = (Clock::system(), arguments.jobs);
    let store = Store::open(&Options::new(&fresh.url)).await?;
    let writing = TimeDelta::milliseconds(i64::try_from(count)? / 5 + 2_000 * 2) + CALM;
    let due = (clock.now() + writing).trunc_subsecs(0) + TimeDelta::seconds(1);
    // The schedules fire daily after that, so that the claim has to compute a next fire.
    let expression = &format!("{} {} {} * * *", due.second(), due.minute(), due.hour());
    let timing = Timing { expression, due };
    seed::schedules_of(&store, &puller::target(), count, timing, clock.now()).await?;
    let crew = Crew::start(arguments, &clock, &fresh.url, store).await?;
    ensure!(clock.now() + TimeDelta::seconds(1) < due, "the machine is too busy");
    let (server, workers) = crew.meters().await?;
    clock.sleep_until(due).await;
    let (before, workers_before) = (server.read()?, workers.read()?);
    let began = clock.instant();
    while watch::is_outstanding(&crew.store, due.into()).await? {
        ensure!(began.elapsed() < LIMIT, "the storm is not over after {LIMIT:?}");
        clock.sleep(POLL).await;
    }
    let (cpu, workers_cpu) = (server.read()?.since(before), workers.read()?.since(workers_before));
    let ended = tally::last_record(&crew.store).await?;
    tally::check(&crew.store, count).await?;
    let handled = crew.stop().await?;
    fresh.drop().await?;
    let distinct: HashSet<&str> = handled.iter().map(|handled| handled.run.as_str()).collect();
    ensure!(
        distinct.len() == count && handled.len() == count,
        "of {count} runs the workers had {}, in {} jobs",
        distinct.len(),
        handled.len()
    );
    let late = lateness(&handled);
    Ok(Storm {
        seconds: (ended - due).as_seconds_f64(),
        cpu,
        workers_cpu: workers_cpu.own,
        p50_ms: at(&late, 50)?,
        p99_ms: at(&late, 99)?,
    })
}

/// Measures jobs every second without any other load.
pub(super) async fn steady(arguments: &Arguments, kind: Kind) -> Result<Table> {
    let (clock, schedules) = (Clock::system(), arguments.job_schedules);
    let fresh = arguments.place.fresh(kind).await?;
    let store = Store::open(&Options::new(&fresh.url)).await?;
    let due = (clock.now() + CALM).trunc_subsecs(0) + TimeDelta::seconds(1);
    let timing = Timing { expression: "* * * * * *", due };
    seed::schedules_of(&store, &puller::target(), schedules, timing, clock.now()).await?;
    let crew = Crew::start(arguments, &clock, &fresh.url, store).await?;
    // Ticks before the workers were ready do not count, because they were late for that reason.
    let from = clock.now().max(due).trunc_subsecs(0) + WARM;
    let until = from + TimeDelta::seconds(arguments.job_seconds.into());
    let (server, workers) = crew.meters().await?;
    clock.sleep_until(from).await;
    let (before, workers_before) = (server.read()?, workers.read()?);
    clock.sleep_until(until).await;
    let (cpu, workers_cpu) = (server.read()?.since(before), workers.read()?.since(workers_before));
    clock.sleep(LATEST).await;
    let range = from.timestamp_millis()..until.timestamp_millis();
    let started = started(&crew.store, &range).await?;
    let mut handled = crew.stop().await?;
    fresh.drop().await?;
    handled.retain(|handled| range.contains(&handled.due_ms));
    let distinct: HashSet<&str> = handled.iter().map(|handled| handled.run.as_str()).collect();
    let (jobs, runs, late) = (handled.len(), distinct.len(), lateness(&handled));
    let expected = schedules * usize::try_from(arguments.job_seconds)?;
    ensure!(
        jobs == runs && runs == started && started <= expected,
        "of {expected} fires {started} started, and workers had {runs} runs in {jobs} jobs"
    );
    let seconds = f64::from(arguments.job_seconds);
    let title = format!("{}: {schedules} jobs every second for {seconds} s", kind.name());
    #[expect(clippy::cast_precision_loss, reason = "a count to be read")]
    let skipped = (expected - started) as f64;
    Ok(Table::new(title)
        .goal("p50 handled, ms late", [at(&late, 50)?], goals::P26_P50)
        .goal("p99 handled, ms late", [at(&late, 99)?], goals::P26_P99)
        .line("latest, ms late", [at(&late, 100)?])
        .line("fires skipped for a run before them", [skipped])
        .line("CPU, cores", [cpu.total() / seconds])
        .line("CPU of the workers, cores", [workers_cpu.own / seconds]))
}

/// The number of fires in that range that became runs.
async fn started(store: &Store, range: &Range<i64>) -> Result<usize> {
    let sql = format!(
        "SELECT count(*) FROM fire \
         WHERE verdict = 'started' AND scheduled_at >= {} AND scheduled_at < {}",
        range.start, range.end
    );
    Ok(usize::try_from(tally::number(store, &sql).await?)?)
}

/// The lateness of each job, ascending.
fn lateness(handled: &[Handled]) -> Vec<i64> {
    let mut late: Vec<i64> = handled.iter().map(Handled::late_ms).collect();
    late.sort_unstable();
    late
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds to be read")]
fn at(late: &[i64], percent: usize) -> Result<f64> {
    percentile(late, percent).map(|ms| ms as f64).context("no job was handled in time")
}
