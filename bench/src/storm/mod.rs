//! The storm: many schedules due at one instant.
//!
//! Each round has a fresh database and a separate process. The schedules are written directly into
//! the tables, all due at one instant a few seconds ahead, with a task that does nothing. The
//! engine runs in that process, as in a server. The scenario measures the time from the due instant
//! until the commit that records the last completion, and the cost of the storm. A round with lost
//! or duplicated work fails the whole measurement. Rounds of all sizes and databases are
//! interleaved, and the limits are measured again between any two of them, so that figures and
//! limits are affected by the same noise.
//!
//! - `round`: performs one storm.
//! - `watch`: finds the end of a storm.
//! - `tally`: computes the lateness, and checks that nothing is missing.

mod round;
pub(crate) mod tally;
pub(crate) mod watch;

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use carillon::target::Target;
use serde::Serialize;

pub(crate) use self::round::{Arguments as RoundArguments, Round, run as run_round};
use crate::{
    database::{Databases, Fresh, Kind},
    limits::Limits,
    process,
};

/// How to measure the storm.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Number of schedules that are due at one instant; may be given several times.
    #[arg(long, default_values_t = [1_000, 10_000])]
    pub(crate) schedules: Vec<usize>,
    /// Number of rounds.
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
    /// The databases to measure.
    #[arg(long, value_enum, default_value_t = Databases::Both)]
    pub(crate) database: Databases,
    /// A PostgreSQL on this machine: a connection that may create databases.
    #[arg(long, env = "CARILLON_TEST_POSTGRES", hide_env_values = true)]
    pub(crate) postgres: Option<String>,
    /// The folder of pgbench, if it is not where Debian puts it.
    #[arg(long, env = "PG_BIN")]
    pub(crate) postgres_programs: Option<PathBuf>,
    /// Number of seconds for which each limit is measured each time; 0 measures none.
    #[arg(long, default_value_t = 5)]
    pub(crate) limit_seconds: u64,
    /// Partition PostgreSQL's ledger as after this many days of use.
    #[arg(long, default_value_t = 45, value_name = "DAYS")]
    pub(crate) history: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// One round, with the limits measured around it.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) database: Kind,
    pub(crate) schedules: usize,
    #[serde(flatten)]
    pub(crate) round: Round,
    pub(crate) limits: Limits,
    /// The machine's load at the end, including that of other programs.
    pub(crate) load: f64,
}

/// Measures all rounds.
pub(crate) async fn run(arguments: &Arguments) -> Result<Vec<Measured>> {
    let kinds = arguments.database.kinds();
    let mut all: Vec<Measured> = Vec::new();
    let mut before = limits(arguments, kinds).await?;
    for number in 1..=arguments.rounds {
        let mut rounds = Vec::new();
        for (kind, schedules) in
            kinds.iter().flat_map(|kind| arguments.schedules.iter().map(|count| (*kind, *count)))
        {
            let fresh =
                Fresh::create(kind, arguments.postgres.as_deref(), arguments.history).await?;
            let round = one(fresh, schedules, None).await?;
            eprintln!(
                "round {number}/{}: {} {schedules}: {:.2} s",
                arguments.rounds,
                kind.name(),
                round.seconds
            );
            rounds.push((kind, schedules, round, process::load()));
        }
        let after = limits(arguments, kinds).await?;
        let limits = Limits::between(before, after);
        all.extend(rounds.into_iter().map(|(database, schedules, round, load)| Measured {
            database,
            schedules,
            round,
            limits,
            load,
        }));
        before = after;
    }
    Ok(all)
}

async fn limits(arguments: &Arguments, kinds: &[Kind]) -> Result<Limits> {
    if arguments.limit_seconds == 0 {
        return Ok(Limits::default());
    }
    let time = Duration::from_secs(arguments.limit_seconds);
    let programs = arguments.postgres_programs.as_deref();
    Limits::measure(kinds, arguments.postgres.as_deref(), programs, time).await
}

/// One round in a fresh database, run by a child process of this program.
pub(crate) async fn one(fresh: Fresh, schedules: usize, target: Option<&Target>) -> Result<Round> {
    let schedules = schedules.to_string();
    let mut arguments = vec!["round", "--url", &fresh.url, "--schedules", &schedules];
    let target = target.map(serde_json::to_string).transpose()?;
    if let Some(target) = &target {
        arguments.extend(["--target", target]);
    }
    let round = process::child(&arguments).await?;
    fresh.drop().await?;
    Ok(round)
}
