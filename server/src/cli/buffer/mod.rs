//! A schedule's buffer from the command line: the fires that wait for blocking runs to settle.

mod list;
mod purge;
mod reorder;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::{CliError, named::NamedSchedule, output};

/// List, reorder and purge the fires that wait for a schedule's runs
#[derive(Debug, Args)]
pub(super) struct Buffer {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::List),
    Move(reorder::Move),
    Purge(purge::Purge),
}

impl Buffer {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self.action {
            Action::List(list) => list.run().await,
            Action::Move(order) => order.run().await,
            Action::Purge(purge) => purge.run().await,
        }
    }
}

/// The fields that are shown of a schedule's buffer; `first` limits its fires.
const FACTS: &str = "bufferSize buffer(first: $first) { id scheduledAt dueAt reason { text } }";

fn print(schedule: &Value) -> Result<(), CliError> {
    let fires = schedule["buffer"].as_array().into_iter().flatten();
    let row = |(place, fire): (usize, &Value)| {
        let why = output::cell(&fire["reason"]["text"]);
        [
            (place + 1).to_string(),
            output::cell(&fire["id"]),
            output::cell(&fire["scheduledAt"]),
            why,
        ]
    };
    let rows: Vec<[String; 4]> = fires.enumerate().map(row).collect();
    output::table(["PLACE", "FIRE", "SCHEDULED", "WHY"], &rows)?;
    let size = schedule["bufferSize"].as_u64().unwrap_or(0);
    if size > rows.len() as u64 {
        output::line(format!("{} of {size}; give --limit to see more", rows.len()))?;
    }
    Ok(())
}
