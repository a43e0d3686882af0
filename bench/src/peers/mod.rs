//! Peers: the storm compared with that of another scheduler, both on the same PostgreSQL,
//! alternating in one run.
//!
//! The other scheduler is a separate program, which is not built with this one: `make bench-peers`
//! builds it. The other scheduler may be slow, so there is a time limit; schedules that have not
//! run by then count as not done.
//!
//! - `peer`: one storm of the other scheduler.

mod peer;

use std::path::PathBuf;

use anyhow::{Context, Result};
use carillon::clock::Clock;

use self::peer::Outcome;
use crate::{
    database::{Fresh, Kind},
    goals,
    place::Place,
    storm,
    table::{Findings, Table},
};

/// How to compare with another scheduler.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// The program that performs a storm of the other scheduler.
    #[arg(long)]
    program: PathBuf,
    /// The peer's arguments in addition to the database and the number of schedules, such as
    /// `--tasks=4`.
    #[arg(long = "option", allow_hyphen_values = true)]
    options: Vec<String>,
    /// Number of schedules that are due at one instant.
    #[arg(long, default_value_t = 1_000)]
    schedules: usize,
    /// Number of seconds after which an unfinished storm of the other scheduler is abandoned.
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    limit: u64,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// Performs both storms as often as requested.
pub(crate) async fn run(arguments: &Arguments) -> Result<Findings> {
    let clock = Clock::system();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for number in 1..=arguments.place.rounds {
        let fresh = arguments.place.fresh(Kind::Postgres).await?;
        let round = storm::one(fresh, arguments.schedules, None).await?;
        let fresh = Fresh::empty(arguments.place.postgres.as_deref()).await?;
        let outcome = peer::storm(arguments, &clock, &fresh).await;
        fresh.drop().await?;
        let outcome = outcome?;
        eprintln!(
            "round {number}/{}: {:.2} s, {}: {} of {} in {:.2} s",
            arguments.place.rounds,
            round.seconds,
            outcome.name,
            outcome.done,
            arguments.schedules,
            outcome.seconds
        );
        ours.push(round);
        theirs.push(outcome);
    }
    let mut findings = Findings::default();
    findings.add(table(arguments, &ours, &theirs)?);
    Ok(findings)
}

#[expect(clippy::cast_precision_loss, reason = "counts of schedules")]
fn table(arguments: &Arguments, ours: &[storm::Round], theirs: &[Outcome]) -> Result<Table> {
    let name = &theirs.first().context("no rounds: --rounds 1 is the least")?.name;
    let n = arguments.schedules as f64;
    let rate = |one: &storm::Round| n / one.seconds;
    let thrift = |one: &storm::Round| n / one.cpu.total();
    // The ratio to zero is not defined.
    let rounds = || ours.iter().zip(theirs).filter(|(_, theirs)| theirs.done > 0);
    let rates = rounds().map(|(ours, theirs)| rate(ours) / theirs.rate());
    let thrifts = rounds().map(|(ours, theirs)| thrift(ours) / theirs.thrift());
    let goal = (arguments.schedules == 1_000).then_some(goals::P1);
    let title = format!("PostgreSQL: storm of {}, beside {name}", arguments.schedules);
    Ok(Table::new(title)
        .line("seconds to the last record", ours.iter().map(|one| one.seconds))
        .line(&format!("{name}: seconds"), theirs.iter().map(|one| one.seconds))
        .line(&format!("{name}: done"), theirs.iter().map(|one| one.done as f64))
        .line(&format!("{name}: first record, s"), theirs.iter().filter_map(|one| one.first))
        .line("exec/s", ours.iter().map(rate))
        .line(&format!("{name}: exec/s"), theirs.iter().map(Outcome::rate))
        .put("one over the other", rates, goal)
        .line("exec per CPU-s", ours.iter().map(thrift))
        .line(&format!("{name}: exec per CPU-s"), theirs.iter().map(Outcome::thrift))
        .line("one over the other", thrifts))
}
