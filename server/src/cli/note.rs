use clap::Args;
use serde_json::json;

use super::{CliError, named::NamedSchedule, output};

/// Change a schedule's note, even if a module declares the schedule
#[derive(Debug, Args)]
pub(super) struct Note {
    #[command(flatten)]
    named: NamedSchedule,
    /// The new note; an empty string removes it
    note: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const NOTE: &str = "mutation ($id: UUID!, $note: String!) {
    done: annotateSchedule(id: $id, note: $note) { schedule { id name version note } }
}";

impl Note {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let done = self.named.order("change the note", NOTE, json!({ "note": self.note })).await?;
        let schedule = &done["schedule"];
        if self.json {
            return output::json(schedule);
        }
        let name = schedule["name"].as_str().unwrap_or_default();
        output::line(format!("changed the note of {name}"))
    }
}
