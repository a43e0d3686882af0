//! The `carillon-bench` binary: measures the product beside the limits of the machine, in one run.
//!
//! It measures and never judges: figures go to people (or, as JSON, to tools) with the goals beside
//! them. Only a storm that lost or doubled something is an error.
//!
//! - `storm`: the scenario.
//! - `limits`: what the databases can do at the best.
//! - `database`: a fresh one for each round.
//! - `process`: CPU and memory, from `/proc`.
//! - `spread`, `report`: from many figures to few lines.

mod database;
mod limits;
mod process;
mod report;
mod spread;
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
    }
    Ok(())
}
