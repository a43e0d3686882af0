//! The `carillon-bench` binary: measures the product beside the limits of the machine, in one run.
//!
//! It measures and never judges: figures go to people (or, as JSON, to tools) with the goals beside
//! them. Only what is lost or doubled is an error.
//!
//! - `storm`: many schedules due at one instant.
//! - `steady`: schedules that fire every second.
//! - `engine`, `seed`: what every scenario starts with.
//! - `limits`: what the databases can do at the best.
//! - `database`: a fresh one for each round.
//! - `process`: CPU and memory, from `/proc`.
//! - `spread`, `report`: from many figures to few lines.

mod database;
mod engine;
mod limits;
mod process;
mod report;
mod seed;
mod spread;
mod steady;
mod storm;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Measures Carillon beside the limits of the machine.
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
    /// Some seconds of it, for the parent process.
    #[command(hide = true)]
    SteadyRound(steady::RoundArguments),
}

#[tokio::main]
async fn main() -> Result<()> {
    match Cli::parse().scenario {
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
    }
    Ok(())
}
