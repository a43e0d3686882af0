//! Real work: fires whose tasks send requests or run programs, compared with fires that do nothing.
//!
//! Requests go to a receiver in a separate process on this machine, whose records are the evidence.
//! Programs are compared with `xargs`, which starts the same program as often. Storms of all kinds
//! are interleaved, so that figures and limits are affected by the same noise.
//!
//! - `storms`: many fires at one instant.
//! - `requests`: every second, alone and beside a hanging target.

mod requests;
mod storms;

use anyhow::Result;
use clap::ValueEnum;

pub(crate) use self::requests::{Arguments as RequestsArguments, run as run_requests};
use crate::{
    place::Place,
    table::{Findings, Table},
};

/// How to measure real work.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Measure only this part; may be given several times.
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Number of requests in a storm.
    #[arg(long, default_value_t = 10_000)]
    requests: usize,
    /// Number of programs in a storm.
    #[arg(long, default_value_t = 1_000)]
    programs: usize,
    /// Number of schedules that send a request every second.
    #[arg(long, default_value_t = 500)]
    schedules: usize,
    /// Number of seconds for which they do.
    #[arg(long, default_value_t = 300)]
    seconds: u32,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// A part of the scenario.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Storms of requests and of programs, compared with a storm of no-ops.
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
