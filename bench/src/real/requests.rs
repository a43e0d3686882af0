use std::time::Duration;

use anyhow::{Context, Result, ensure};
use carillon::{
    clock::Clock,
    store::{Options, Store},
    target::{Http, Target},
};
use chrono::{DateTime, SubsecRound, TimeDelta, Timelike, Utc};
use serde::{Deserialize, Serialize};

use super::Arguments as Scenario;
use crate::{
    database::Kind,
    engine, goals,
    process::{self, Cpu, Meter},
    receiver::{self, Arrival, ReceiverProcess},
    seed::{self, Seeded, Timing},
    spread::percentile,
    statements::Statements,
    table::Table,
};

/// Arguments of the process that performs a few seconds of requests.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// An empty, migrated database.
    #[arg(long)]
    url: String,
    /// Number of schedules that send a request every second.
    #[arg(long)]
    schedules: usize,
    /// The URL to which the schedules send their requests.
    #[arg(long)]
    to: String,
    /// Number of seconds.
    #[arg(long)]
    seconds: u32,
    /// Number of further schedules that are due together, once, at the beginning.
    #[arg(long, default_value_t = 0)]
    slow: usize,
    /// The URL to which the further schedules send their requests.
    #[arg(long, default_value = "")]
    slow_to: String,
}

/// The part of the result that the process reports; the receiver reports the rest.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Round {
    /// The range of instants that count: from the first up to but not including the second.
    from: i64,
    until: i64,
    cpu: Cpu,
}

/// The first ticks warm up connections, statements and caches, and do not count.
const WARM: TimeDelta = TimeDelta::seconds(3);
/// The maximum delay for which late requests are waited for.
const LATEST: Duration = Duration::from_secs(5);
/// Number of schedules that fire beside the slow target.
const BESIDE: usize = 50;
/// Number of hanging requests: more than a node runs at once for one origin.
const SLOW: usize = 900;

/// Performs a few seconds of requests.
pub(crate) async fn run(arguments: &Arguments) -> Result<Round> {
    let clock = Clock::system();
    let store = Store::open(&Options::new(&arguments.url)).await?;
    let count = i64::try_from(arguments.schedules + arguments.slow)?;
    let due = (clock.now() + TimeDelta::milliseconds(count + 1_500)).trunc_subsecs(0)
        + TimeDelta::seconds(1);
    let from = due + WARM;
    let until = from + TimeDelta::seconds(arguments.seconds.into());
    let target = Target::Http(Http::post(&arguments.to));
    let seeded = seed::begin_with(&store, "tick", &target, clock.now()).await?;
    let timing = Timing { expression: "* * * * * *", due };
    let seeded =
        seed::more(&store, &seeded, "tick", arguments.schedules, timing, clock.now()).await?;
    if arguments.slow > 0 {
        slow(&store, &clock, arguments, &seeded, from).await?;
    }
    seed::analyze(&store).await?;
    let engine = engine::start(&Statements::default().watch(&store), &clock).await?;
    let meter = Meter::of(store.read()).await?;
    clock.sleep_until(from).await;
    let before = meter.read()?;
    clock.sleep_until(until).await;
    let cpu = meter.read()?.since(before);
    clock.sleep(LATEST).await;
    // The shutdown does not wait for the hanging requests.
    engine.shutdown(Duration::from_secs(1)).await?;
    store.close().await?;
    Ok(Round { from: from.timestamp(), until: until.timestamp(), cpu })
}

/// Creates the schedules whose requests hang.
async fn slow(
    store: &Store,
    clock: &Clock,
    arguments: &Arguments,
    seeded: &Seeded,
    due: DateTime<Utc>,
) -> Result<()> {
    let target = Target::Http(Http::post(&arguments.slow_to));
    let begun = seed::begin_with(store, "slow", &target, clock.now()).await?;
    let seeded = seeded.running(begun.workflow_id);
    let expression = &format!("{} {} {} * * *", due.second(), due.minute(), due.hour());
    let timing = Timing { expression, due };
    seed::more(store, &seeded, "slow", arguments.slow, timing, clock.now()).await?;
    Ok(())
}

/// The requests that arrived in one round.
struct Arrived {
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
    missing: f64,
    cpu: f64,
}

async fn one(
    scenario: &Scenario,
    kind: Kind,
    schedules: usize,
    seconds: u32,
    slow: usize,
) -> Result<Arrived> {
    let fresh = scenario.place.fresh(kind).await?;
    let receiver = ReceiverProcess::start().await?;
    // The receiver has another port, so it is another origin.
    let hanging = ReceiverProcess::start().await?;
    let slow_to = format!("{}{}", hanging.url().trim_end_matches('/'), receiver::HANG);
    let flags = [
        ("--url", fresh.url.clone()),
        ("--schedules", schedules.to_string()),
        ("--seconds", seconds.to_string()),
        ("--to", receiver.url().to_owned()),
        ("--slow", slow.to_string()),
        ("--slow-to", slow_to),
    ];
    let mut words = vec!["requests-round"];
    words.extend(flags.iter().flat_map(|(flag, value)| [*flag, value.as_str()]));
    let round: Round = process::child(&words).await?;
    let arrivals = receiver.stop().await?;
    let hung = hanging.stop().await?.len();
    ensure!((hung > 0) == (slow > 0), "of {slow} requests that are to hang {hung} arrived");
    fresh.drop().await?;
    let range = round.from..round.until;
    let inside = arrivals.iter().filter(|arrival| range.contains(&arrival.due_second));
    let mut late: Vec<i64> = inside.map(Arrival::late_ms).collect();
    late.sort_unstable();
    let expected = schedules * usize::try_from(seconds)?;
    ensure!(late.len() <= expected, "{} requests of {expected}: some twice", late.len());
    #[expect(clippy::cast_precision_loss, reason = "milliseconds and counts to be read")]
    let of = |percent| {
        percentile(&late, percent).map(|ms| ms as f64).context("no request arrived in time")
    };
    #[expect(clippy::cast_precision_loss, reason = "a count to be read")]
    let missing = (expected - late.len()) as f64;
    Ok(Arrived {
        p50_ms: of(50)?,
        p99_ms: of(99)?,
        max_ms: of(100)?,
        missing,
        cpu: round.cpu.total() / f64::from(seconds),
    })
}

/// Measures requests every second without any other load.
pub(super) async fn steady(scenario: &Scenario, kind: Kind) -> Result<Table> {
    // A steady measurement takes long, so it runs once.
    let arrived = one(scenario, kind, scenario.schedules, scenario.seconds, 0).await?;
    let title = format!(
        "{}: {} requests every second for {} s",
        kind.name(),
        scenario.schedules,
        scenario.seconds
    );
    Ok(Table::new(title)
        .goal("p50 arrived, ms late", [arrived.p50_ms], goals::P24)
        .goal("p99 arrived, ms late", [arrived.p99_ms], goals::P24_P99)
        .line("latest, ms late", [arrived.max_ms])
        .line("requests that did not arrive", [arrived.missing])
        .line("CPU, cores", [arrived.cpu]))
}

/// Measures requests of few schedules, with and without hanging requests.
pub(super) async fn beside_a_slow_target(scenario: &Scenario, kind: Kind) -> Result<Table> {
    let seconds = scenario.seconds.min(30);
    let mut rounds = Vec::new();
    for _ in 0..scenario.place.rounds {
        let alone = one(scenario, kind, BESIDE, seconds, 0).await?;
        let beside = one(scenario, kind, BESIDE, seconds, SLOW).await?;
        rounds.push((alone, beside));
    }
    let of = |figure: fn(&(Arrived, Arrived)) -> f64| rounds.iter().map(figure);
    let title = format!(
        "{}: {BESIDE} requests every second beside {SLOW} that hang, {seconds} s",
        kind.name()
    );
    Ok(Table::new(title)
        .line("p99 without those, ms late", of(|(alone, _)| alone.p99_ms))
        .line("p99 beside those, ms late", of(|(_, beside)| beside.p99_ms))
        .goal("the one over the other", of(|(a, b)| b.p99_ms / a.p99_ms.max(1.0)), goals::P28)
        .line("requests that did not arrive", of(|(_, beside)| beside.missing)))
}
