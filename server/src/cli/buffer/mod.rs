//! A schedule's buffer from the command line: the fires that wait for blocking runs to settle.

mod list;
mod purge;
mod reorder;

use clap::{Args, Subcommand};
use serde_json::Value;

use super::{CliError, client::MoreEntries, named::NamedSchedule, output};

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

/// The fields of a schedule's buffer that the commands show; `first` limits its fires.
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
    Ok(())
}

/// Maximum number of listed fires, which is also the largest buffer.
const MAX_FIRES: u32 = 1_000;

/// Reports how many more fires wait.
fn tell_left(schedule: &Value) {
    let shown = schedule["buffer"].as_array().map_or(0, Vec::len);
    let total = schedule["bufferSize"].as_u64();
    let left = match total {
        Some(total) if total > shown as u64 => MoreEntries::Some { total: Some(total) },
        Some(_) | None => MoreEntries::Nothing,
    };
    left.tell_up_to(shown, MAX_FIRES);
}
