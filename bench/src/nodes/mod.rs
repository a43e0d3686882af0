//! Nodes: several servers on one PostgreSQL, each a separate process.
//!
//! - `storm`: three nodes in a storm, compared with one
//! - `failover`: a node is killed while schedules fire every second

mod failover;
mod storm;

use anyhow::Result;
use carillon::clock::Clock;

use crate::{
    database::Kind,
    goals,
    place::Place,
    table::{Findings, Table},
};

/// How to measure several nodes.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Number of schedules that are due at one instant.
    #[arg(long, default_value_t = 10_000)]
    schedules: usize,
    /// Number of nodes to compare with one.
    #[arg(long, default_value_t = 3)]
    nodes: usize,
    /// How often a node is killed.
    #[arg(long, default_value_t = 5)]
    kills: usize,
    /// Number of schedules that fire every second during the kills.
    #[arg(long, default_value_t = 200)]
    ticking: usize,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// Measures the storm and the failover. Lost or duplicated work is an error. SQLite supports only
/// one node.
pub(crate) async fn run(arguments: &Arguments) -> Result<Findings> {
    let mut findings = Findings::default();
    let clock = Clock::system();
    let kind = Kind::Postgres;
    if arguments.place.rounds > 0 {
        let (mut one, mut many) = (Vec::new(), Vec::new());
        for number in 1..=arguments.place.rounds {
            for (nodes, all) in [(1, &mut one), (arguments.nodes, &mut many)] {
                let rate = storm::run(arguments, &clock, nodes).await?;
                let rounds = arguments.place.rounds;
                eprintln!("round {number}/{rounds}: {nodes} nodes: {rate:.0} exec/s");
                all.push(rate);
            }
        }
        let (count, nodes) = (arguments.schedules, arguments.nodes);
        let ratios = many.iter().zip(&one).map(|(many, one)| many / one);
        let table = Table::new(format!("{}: storm of {count}, {nodes} nodes and one", kind.name()))
            .line("exec/s of one", one.iter().copied())
            .line(&format!("exec/s of {nodes}"), many.iter().copied())
            .goal("one over the other", ratios, goals::P15);
        findings.add(table);
    }
    if arguments.kills > 0 {
        let found = failover::run(arguments, &clock).await?;
        let (count, nodes) = (arguments.ticking, arguments.nodes);
        let title = format!("{}: one of {nodes} nodes killed, {count} every second", kind.name());
        let table = Table::new(title)
            .goal("latest claim after a kill, s", found.iter().map(|one| one.claim_s), goals::P17)
            .goal(
                "the worst of all kills, s",
                found.iter().map(|one| one.claim_s).reduce(f64::max),
                goals::P17,
            )
            .line("latest start after a kill, s", found.iter().map(|one| one.start_s));
        findings.add(table);
    }
    Ok(findings)
}
