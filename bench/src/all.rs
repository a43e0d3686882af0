//! All scenarios, one after the other. Each is a separate process of this program, so that one that
//! fails or takes too long does not prevent the others from being measured.

use std::{process::ExitCode, time::Duration};

use anyhow::{Context, Result};
use carillon::clock::Clock;
use tokio::process::Command;

/// How to measure all scenarios.
#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Finish in about ten minutes with fewer rounds, smaller sizes and shorter times. Otherwise,
    /// the measurement takes about an hour and a half.
    #[arg(long)]
    quick: bool,
}

/// One scenario.
struct Scenario {
    arguments: &'static str,
    /// The scenario's time limit, in minutes.
    most: u64,
}

const fn scenario(arguments: &'static str, most: u64) -> Scenario {
    Scenario { arguments, most }
}

const QUICK: [Scenario; 9] = [
    scenario("storm --rounds 2 --limit-seconds 2", 4),
    scenario("storm --schedules 100000 --rounds 1 --limit-seconds 0", 4),
    scenario("steady --rounds 1 --seconds 20", 2),
    scenario("steady --schedules 1000 --rounds 1 --seconds 20 --database postgres", 2),
    scenario("idle --rounds 1 --seconds 20", 4),
    scenario("create --rounds 1 --seconds 3 --limit-seconds 2", 3),
    scenario("lists --runs 300000 --times 50 --seconds 5", 4),
    scenario("nodes --rounds 2 --kills 2", 4),
    scenario("resume", 2),
];

const FULL: [Scenario; 11] = [
    scenario("storm --rounds 5", 15),
    scenario("storm --schedules 100000 --rounds 3 --limit-seconds 0", 10),
    scenario("steady --rounds 5", 10),
    scenario("steady --schedules 1000 --rounds 1 --seconds 600 --database postgres", 13),
    scenario("steady --schedules 500 --rounds 1 --seconds 600 --database sqlite", 13),
    scenario(
        "steady --schedules 1000 --rounds 1 --seconds 60 --created 5000 --stored 100000 \
         --stored 3000000 --database postgres",
        15,
    ),
    scenario("idle --rounds 2", 20),
    scenario("create --rounds 3", 10),
    scenario("lists", 20),
    scenario("nodes", 10),
    scenario("resume", 2),
];

/// Measures all scenarios.
pub(crate) async fn run(arguments: &Arguments) -> Result<ExitCode> {
    let program = std::env::current_exe().context("find this program")?;
    let clock = Clock::system();
    let scenarios: &[Scenario] = if arguments.quick { &QUICK } else { &FULL };
    let mut failed = Vec::new();
    for Scenario { arguments, most } in scenarios {
        println!("\n== {arguments} ==");
        let mut child = Command::new(&program)
            .args(arguments.split_ascii_whitespace())
            .kill_on_drop(true)
            .spawn()
            .context("start a scenario")?;
        let ended = clock.timeout(Duration::from_secs(most * 60), child.wait()).await;
        match ended {
            Ok(status) if status.as_ref().is_ok_and(|status| status.success()) => {}
            Ok(status) => failed.push(format!("{arguments}: {status:?}")),
            Err(_) => failed.push(format!("{arguments}: not over after {most} minutes")),
        }
    }
    for failure in &failed {
        eprintln!("failed: {failure}");
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
