//! Steady load: schedules that all fire every second, for some time.
//!
//! The question is how late a fire starts when there is no backlog. Every fire needs a timer and a
//! commit, so the delays of both are measured in the same seconds and the same process. Every tick
//! of every schedule must exist, have started and have succeeded.
//!
//! - `round`: performs one measurement.
//! - `creator`: creates schedules in the meantime.
//! - `probes`: measures how late a timer is, and how long a commit takes.
//! - `report`: prints the figures.

mod creator;
mod probes;
mod report;
mod round;

use anyhow::Result;
use serde::Serialize;

pub(crate) use self::{
    report::print,
    round::{Arguments as RoundArguments, Round, run as run_round},
};
use crate::{
    database::{Databases, Fresh, Kind},
    process,
};

/// On PostgreSQL, the ledger has as many daily partitions as after this many days of use.
const HISTORY: u32 = 45;

/// How to measure steady load.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Number of schedules that fire every second; may be given several times.
    #[arg(long, default_values_t = [100])]
    pub(crate) schedules: Vec<usize>,
    /// Number of seconds.
    #[arg(long, default_value_t = 30)]
    pub(crate) seconds: u32,
    /// Number of rounds.
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
    /// Number of other schedules that are stored and not due; may be given several times.
    #[arg(long, default_values_t = [0])]
    pub(crate) stored: Vec<usize>,
    /// Number of schedules that are created per minute in the meantime.
    #[arg(long, default_value_t = 0)]
    pub(crate) created: u32,
    /// The databases to measure.
    #[arg(long, value_enum, default_value_t = Databases::Both)]
    pub(crate) database: Databases,
    /// A PostgreSQL on this machine: a connection that may create databases.
    #[arg(long, env = "CARILLON_TEST_POSTGRES", hide_env_values = true)]
    pub(crate) postgres: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// One round.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) database: Kind,
    pub(crate) schedules: usize,
    /// Number of other schedules, which were not due.
    pub(crate) stored: usize,
    #[serde(flatten)]
    pub(crate) round: Round,
    /// The machine's load at the end, including that of other programs.
    pub(crate) load: f64,
}

/// Measures all rounds, alternating sizes and databases.
pub(crate) async fn run(arguments: &Arguments) -> Result<Vec<Measured>> {
    let mut all = Vec::new();
    for number in 1..=arguments.rounds {
        for database in arguments.database.kinds() {
            for (schedules, stored) in arguments.sizes() {
                let round = one(arguments, *database, schedules, stored).await?;
                eprintln!(
                    "round {number}/{}: {} {schedules}: p99 {} ms late",
                    arguments.rounds,
                    database.name(),
                    round.p99_ms
                );
                let (database, load) = (*database, process::load());
                all.push(Measured { database, schedules, stored, round, load });
            }
        }
    }
    Ok(all)
}

impl Arguments {
    /// The number of schedules that fire and the number of others that are stored, for each
    /// measurement.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (usize, usize)> {
        self.schedules.iter().flat_map(|count| self.stored.iter().map(|stored| (*count, *stored)))
    }
}

async fn one(arguments: &Arguments, kind: Kind, schedules: usize, stored: usize) -> Result<Round> {
    let postgres = arguments.postgres.as_deref();
    let (fresh, beside) =
        (Fresh::create(kind, postgres, HISTORY).await?, Fresh::create(kind, postgres, 0).await?);
    let flags = [
        ("--schedules", schedules.to_string()),
        ("--seconds", arguments.seconds.to_string()),
        ("--stored", stored.to_string()),
        ("--created", arguments.created.to_string()),
    ];
    let mut words = vec!["steady-round", "--url", &fresh.url, "--beside", &beside.url];
    words.extend(flags.iter().flat_map(|(flag, value)| [*flag, value.as_str()]));
    let round = process::child(&words).await?;
    fresh.drop().await?;
    beside.drop().await?;
    Ok(round)
}
