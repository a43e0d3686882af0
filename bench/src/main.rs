//! The `carillon-bench` binary: measures Carillon and the limits of the machine in the same run.
//!
//! Each figure is printed with its goal. A missed goal is not an error; only lost or duplicated
//! work is.
//!
//! - `storm`: many schedules due at one instant.
//! - `steady`: schedules that fire every second.
//! - `idle`: many stored schedules that do not fire.
//! - `create`: schedules that are created through the API.
//! - `lists`: the console's queries on a large database.
//! - `nodes`: several servers on one database, and one that is killed.
//! - `resume`: a year of missed fires.
//! - `real`: storms and steady load whose tasks do something: requests, programs,
//!   events and jobs.
//! - `siege`: attacks, and their effect on a schedule of another namespace.
//! - `peers`: a storm compared with that of another scheduler.
//! - `all`: all scenarios, one after the other.
//! - `engine`, `server`, `seed`, `place`, `graphql`: the common parts of scenarios.
//! - `receiver`: receives requests; `brokers`: receive events; `puller`: pulls jobs.
//! - `limits`: the highest rates that the databases can reach.
//! - `database`: creates a fresh database for each round.
//! - `process`, `statements`: CPU and memory, from `/proc`; the statements that are sent to the
//!   database.
//! - `goals`, `spread`, `table`, `report`: summarise and print the figures.

mod all;
mod brokers;
mod create;
mod database;
mod engine;
mod goals;
mod graphql;
mod idle;
mod limits;
mod lists;
mod nodes;
mod peers;
mod place;
mod process;
mod puller;
mod real;
mod receiver;
mod report;
mod resume;
mod seed;
mod server;
mod siege;
mod spread;
mod statements;
mod steady;
mod storm;
mod table;

use std::{ffi::OsString, process::ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Measures Carillon and the limits of the machine.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    scenario: Scenario,
}

#[derive(Debug, Subcommand)]
enum Scenario {
    /// Many schedules due at one instant.
    Storm(storm::Arguments),
    /// One storm, for the parent process.
    #[command(hide = true)]
    Round(storm::RoundArguments),
    /// Schedules that fire every second.
    Steady(steady::Arguments),
    /// A few seconds of steady load, for the parent process.
    #[command(hide = true)]
    SteadyRound(steady::RoundArguments),
    /// Many schedules stored and none due.
    Idle(idle::Arguments),
    /// Schedules that are created through GraphQL, one by one and in bulk.
    Create(create::Arguments),
    /// The console's queries on many schedules and runs.
    Lists(lists::Arguments),
    /// Three nodes compared with one, and a node that is killed.
    Nodes(nodes::Arguments),
    /// A schedule that is resumed after a year.
    Resume(resume::Arguments),
    /// Tasks that send requests, run programs, publish events or go to workers, instead of doing
    /// nothing: in storms, every second, and next to a slow target.
    Real(real::Arguments),
    /// A few seconds of requests, for the parent process.
    #[command(hide = true)]
    RequestsRound(real::RequestsArguments),
    /// A receiver of requests, for the parent process.
    #[command(hide = true)]
    Receiver,
    /// A worker, for the parent process.
    #[command(hide = true)]
    Puller(puller::Arguments),
    /// A stand-in for an SQS queue, for the parent process.
    #[command(hide = true)]
    Queue(brokers::QueueArguments),
    /// Attacks, and their effect on the fires of another namespace.
    Siege(siege::Arguments),
    /// A storm on PostgreSQL, compared with that of another scheduler.
    Peers(peers::Arguments),
    /// All of these, one after the other, except `peers`, which needs the other scheduler.
    All(all::Arguments),
}

fn main() -> Result<ExitCode> {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let mut rest = arguments.peekable();
    if rest.peek().is_some_and(|word| word == server::STARTER) {
        return Ok(carillon::cli::run(std::iter::once(name).chain(rest)));
    }
    if rest.peek().is_some_and(|word| word == server::PRODUCT) {
        let words = std::iter::once(OsString::from("carillon")).chain(rest.skip(1));
        return Ok(carillon::cli::run(words));
    }
    let cli = Cli::parse_from(std::iter::once(name).chain(rest));
    tokio::runtime::Runtime::new()?.block_on(measure(cli.scenario))
}

async fn measure(scenario: Scenario) -> Result<ExitCode> {
    match scenario {
        Scenario::Storm(arguments) => {
            let measured = storm::run(&arguments).await?;
            if arguments.json {
                println!("{}", serde_json::to_string_pretty(&measured)?);
            } else {
                report::print(&arguments, &measured);
            }
        }
        Scenario::Round(arguments) => {
            println!("{}", serde_json::to_string(&storm::run_round(&arguments).await?)?);
        }
        Scenario::Steady(arguments) => {
            let measured = steady::run(&arguments).await?;
            if arguments.json {
                println!("{}", serde_json::to_string_pretty(&measured)?);
            } else {
                steady::print(&arguments, &measured);
            }
        }
        Scenario::SteadyRound(arguments) => {
            println!("{}", serde_json::to_string(&steady::run_round(&arguments).await?)?);
        }
        Scenario::Idle(arguments) => {
            idle::run(&arguments).await?.print(arguments.place.rounds, arguments.place.json)?;
        }
        Scenario::Create(arguments) => {
            create::run(&arguments).await?.print(arguments.place.rounds, arguments.place.json)?;
        }
        Scenario::Lists(arguments) => {
            lists::run(&arguments).await?.print(1, arguments.place.json)?;
        }
        Scenario::Nodes(arguments) => {
            nodes::run(&arguments).await?.print(arguments.place.rounds, arguments.place.json)?;
        }
        Scenario::Resume(arguments) => {
            resume::run(&arguments).await?.print(1, arguments.place.json)?;
        }
        Scenario::Real(arguments) => {
            real::run(&arguments).await?.print(arguments.place.rounds, arguments.place.json)?;
        }
        Scenario::RequestsRound(arguments) => {
            println!("{}", serde_json::to_string(&real::run_requests(&arguments).await?)?);
        }
        Scenario::Receiver => receiver::run().await?,
        Scenario::Queue(arguments) => brokers::run_queue(&arguments).await?,
        Scenario::Puller(arguments) => puller::run(&arguments).await?,
        Scenario::Siege(arguments) => {
            siege::run(&arguments).await?.print(arguments.place.rounds, arguments.place.json)?;
        }
        Scenario::Peers(arguments) => {
            peers::run(&arguments).await?.print(arguments.place.rounds, arguments.place.json)?;
        }
        Scenario::All(arguments) => return all::run(&arguments).await,
    }
    Ok(ExitCode::SUCCESS)
}
