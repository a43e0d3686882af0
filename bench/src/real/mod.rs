//! Real work: fires whose tasks send requests or run programs, beside fires that do nothing.
//!
//! Requests go to a receiver in a process of its own, on this machine, and its notes are the
//! witness. Programs stand beside `xargs`, which starts the same program as often. Storms of all
//! kinds are interleaved, so that figure and limit met the same noise.
//!
//! - `storms`: many at one instant.
//! - `requests`: every second, alone and beside a target that hangs.

mod requests;
mod storms;

use anyhow::Result;
use clap::ValueEnum;

pub(crate) use self::requests::{Arguments as RequestsArguments, run as run_requests};
use crate::{
    place::Place,
    table::{Findings, Table},
};

/// How to measure it.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Only this; may be given several times.
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// How many requests a storm sends.
    #[arg(long, default_value_t = 10_000)]
    requests: usize,
    /// How many programs a storm starts.
    #[arg(long, default_value_t = 1_000)]
    programs: usize,
    /// How many schedules send a request every second.
    #[arg(long, default_value_t = 500)]
    schedules: usize,
    /// For how many seconds they do.
    #[arg(long, default_value_t = 300)]
    seconds: u32,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// What is measured.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Storms of requests and of programs, beside one that does nothing.
    Storms,
    /// Requests every second.
    Steady,
    /// Requests every second beside requests that hang.
    Slow,
}

/// Measures all parts on each database.
pub(crate) async fn run(arguments: &Arguments) -> Result<Findings> {
    let mut findings = Findings::default();
    let wants = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut add = |table: Table| {
        if !arguments.place.json {
            table.print();
        }
        findings.add(table);
    };
    for kind in arguments.place.database.kinds() {
        if wants(Part::Storms) {
            for table in storms::measure(arguments, *kind).await? {
                add(table);
            }
        }
        if wants(Part::Steady) {
            add(requests::steady(arguments, *kind).await?);
        }
        if wants(Part::Slow) {
            add(requests::beside_a_slow_target(arguments, *kind).await?);
        }
    }
    Ok(findings)
}
