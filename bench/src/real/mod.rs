//! Real work: fires whose tasks send requests, run programs, publish events or go to workers,
//! compared with fires that do nothing.
//!
//! Requests go to a receiver in a separate process on this machine, and its records are the
//! evidence. Programs are compared with `xargs`, which starts the same program as often. Events go
//! to real brokers, which are asked for their number of events. Jobs go to worker processes, which
//! record them. Storms of all kinds are interleaved, so that figures and limits are affected by the
//! same noise.
//!
//! - `storms`: many requests and programs at one instant.
//! - `requests`: requests every second, alone and beside a target that hangs.
//! - `publish`: storms of events, to each broker that is installed.
//! - `workers`: a storm of jobs for worker processes, and jobs every second.

mod publish;
mod requests;
mod storms;
mod workers;

use anyhow::Result;
use clap::ValueEnum;

pub(crate) use self::requests::{Arguments as RequestsArguments, run as run_requests};
use crate::{
    brokers::Broker,
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
    /// Number of seconds for which these schedules send requests.
    #[arg(long, default_value_t = 300)]
    seconds: u32,
    /// How many events a storm publishes.
    #[arg(long, default_value_t = 10_000)]
    events: usize,
    /// Publish only to this broker; may be given several times.
    #[arg(long, value_enum)]
    broker: Vec<Broker>,
    /// How many jobs a storm has for workers.
    #[arg(long, default_value_t = 10_000)]
    jobs: usize,
    /// How many jobs each worker process takes at once.
    #[arg(long, default_value_t = 128)]
    worker_capacity: usize,
    /// How many schedules have a job for workers every second.
    #[arg(long, default_value_t = 100)]
    job_schedules: usize,
    /// For how many seconds these schedules fire.
    #[arg(long, default_value_t = 60)]
    job_seconds: u32,
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
    /// Requests every second while other requests hang.
    Slow,
    /// Storms of events to brokers, compared with a storm of no-ops.
    Publish,
    /// A storm of jobs for workers, compared with a storm of no-ops, and jobs every second.
    Workers,
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
    let brokers = if wants(Part::Publish) { publish::brokers(arguments).await } else { Vec::new() };
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
        for table in publish::measure(arguments, *kind, &brokers).await? {
            add(table);
        }
        if wants(Part::Workers) {
            add(workers::storms(arguments, *kind).await?);
            add(workers::steady(arguments, *kind).await?);
        }
    }
    Ok(findings)
}
