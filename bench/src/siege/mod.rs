//! Siege: one namespace, or an unauthenticated caller, requests as much as the server allows, while
//! a schedule of another namespace fires every second.
//!
//! The receiver of that schedule's requests is the evidence: it records when each arrives. The
//! scenario also measures the slowest answer of `/livez`, the growth of the server's memory, and
//! the CPU of each request of an unauthenticated caller.
//! Each attack has a fresh server, and is limited in count and time.
//!
//! - `attack`: the attacks, one variant each.
//! - `callers`: requests and connections, many at once.
//! - `tenants`: attacks by an editor: many fires, and targets that do not answer.
//! - `texts`: the documents and templates that attacks send.
//! - `camp`: the server, its namespaces and its accounts.

mod attack;
mod callers;
mod camp;
mod tenants;
mod texts;

use std::time::Duration;

use anyhow::Result;
use carillon::clock::Clock;

use self::{attack::Attack, camp::Camp};
use crate::{
    goals,
    place::Place,
    process,
    receiver::Receiver,
    spread::percentile,
    table::{Findings, Table},
};

/// How to measure attacks.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Duration of each attack in seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Only attacks with this text in their name.
    #[arg(long)]
    attack: Option<String>,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// Time between the start of the server and an attack.
const CALM: Duration = Duration::from_secs(3);
/// Time between two requests to `/livez`.
const BEAT: Duration = Duration::from_millis(250);
/// A probe that takes longer counts as dead.
const DEAD: Duration = Duration::from_secs(10);

/// Performs the attacks on each database.
pub(crate) async fn run(arguments: &Arguments) -> Result<Findings> {
    let mut findings = Findings::default();
    for kind in arguments.place.database.kinds() {
        for attack in Attack::ALL {
            let is_wanted = |wanted: &String| attack.name().contains(wanted.as_str());
            if !arguments.attack.as_ref().is_none_or(is_wanted) {
                continue;
            }
            let mut rounds = Vec::new();
            for _ in 0..arguments.place.rounds {
                rounds.push(one(arguments, *kind, attack).await?);
            }
            let of = |figure: fn(&Round) -> f64| rounds.iter().map(figure);
            let title = format!("{}: {}", kind.name(), attack.name());
            let table = Table::new(title)
                .goal("another's fires, p99 ms late", of(|round| round.late_ms), goals::SIEGE_LATE)
                .line("fires that did not arrive", of(|round| round.missing))
                .line("/livez, slowest ms", of(|round| round.livez_ms))
                .goal("memory gained, MB", of(|round| round.gained_mb), goals::SIEGE_MEMORY)
                .line("CPU seconds of the server", of(|round| round.cpu))
                .line("requests answered", of(|round| round.answered));
            let cpu_of_each = of(|round| round.cpu * 1_000.0 / round.answered.max(1.0));
            let table = match attack.is_by_strangers() {
                true => table.goal("CPU ms of each", cpu_of_each, goals::SIEGE_CPU),
                false => table,
            };
            table.print();
            findings.add(table);
        }
    }
    Ok(findings)
}

struct Round {
    late_ms: f64,
    missing: f64,
    livez_ms: f64,
    gained_mb: f64,
    cpu: f64,
    answered: f64,
}

async fn one(arguments: &Arguments, kind: crate::database::Kind, attack: Attack) -> Result<Round> {
    let clock = Clock::system();
    let fresh = arguments.place.fresh(kind).await?;
    let witness = Receiver::start(&clock).await?;
    let camp = Camp::pitch(&clock, &fresh.url, &witness.url()).await?;
    clock.sleep(CALM).await;
    let memory = process::memory_mb(camp.pid())?;
    let cpu = process::cpu_seconds(camp.pid())?;
    let time = Duration::from_secs(arguments.seconds);
    let from = clock.now();
    let (answered, probed) =
        tokio::join!(attack.carry_out(&camp, &clock, time), probe(&camp, &clock, time));
    let until = clock.now();
    let gained = process::memory_mb(camp.pid())? - memory;
    let cpu = process::cpu_seconds(camp.pid())? - cpu;
    // Wait for delayed requests.
    clock.sleep(CALM).await;
    let mut late = witness.late_ms(from, until);
    late.sort_unstable();
    let expected = usize::try_from((until - from).num_seconds().max(1) - 1)?;
    let missing = expected.saturating_sub(late.len());
    let late = percentile(&late, 99).unwrap_or(i64::MAX);
    camp.kill().await?;
    fresh.drop().await?;
    #[expect(clippy::cast_precision_loss, reason = "figures to be read")]
    let round = Round {
        late_ms: late as f64,
        missing: missing as f64,
        livez_ms: probed?.as_secs_f64() * 1_000.0,
        gained_mb: gained,
        cpu,
        answered: answered? as f64,
    };
    Ok(round)
}

/// The duration of the slowest answer of `/livez`.
async fn probe(camp: &Camp, clock: &Clock, time: Duration) -> Result<Duration> {
    let start = clock.instant();
    let mut slowest = Duration::ZERO;
    while start.elapsed() < time {
        let asked = clock.instant();
        let answer = clock.timeout(DEAD, camp.livez()).await;
        slowest = slowest.max(match answer {
            Ok(Ok(())) => asked.elapsed(),
            Ok(Err(_)) | Err(_) => DEAD,
        });
        clock.sleep(BEAT).await;
    }
    Ok(slowest)
}
