use clap::Args;
use serde_json::{Value, json};

use super::{Wanted, text};
use crate::cli::{CliError, output};

/// Tell what a backfill would run
#[derive(Debug, Args)]
pub(super) struct Preview {
    #[command(flatten)]
    wanted: Wanted,
    /// How many of the fires to list, 1 to 200
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const PREVIEW: &str = "query (
    $id: UUID!, $from: DateTime!, $to: DateTime!, $mode: BackfillMode!, $first: Int!
) {
    previewBackfill(scheduleId: $id, from: $from, to: $to, mode: $mode) {
        total missing succeeded failed live suppressed forgotten selected
        fires(first: $first) {
            at local offset kind standing selected fire { verdict reason { text } }
        }
    }
}";

impl Preview {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "preview the backfill";
        let mut variables = self.wanted.variables(ACTION).await?;
        variables["first"] = json!(self.limit);
        let answer = self.wanted.server.ask(ACTION, PREVIEW, variables).await?;
        let preview = &answer["previewBackfill"];
        if self.json { output::json(preview) } else { print(preview) }
    }
}

fn print(preview: &Value) -> Result<(), CliError> {
    let row = |fire: &Value| {
        let runs = if fire["selected"] == true { "yes" } else { "no" };
        let standing = text(&fire["standing"]).to_lowercase();
        let local = format!("{} {}", text(&fire["local"]).replace('T', " "), text(&fire["offset"]));
        let why = text(&fire["fire"]["reason"]["text"]);
        [text(&fire["at"]), local, standing, runs.to_owned(), why]
    };
    let rows: Vec<[String; 5]> =
        preview["fires"].as_array().into_iter().flatten().map(row).collect();
    output::table(["AT", "LOCAL", "STANDING", "WOULD RUN", "LEDGER"], &rows)?;
    let count = |name: &str| preview[name].as_i64().unwrap_or(0);
    output::line(format!(
        "{} fires: {} missing, {} failed, {} succeeded, {} live, {} suppressed, \
         {} forgotten; {} would run",
        count("total"),
        count("missing"),
        count("failed"),
        count("succeeded"),
        count("live"),
        count("suppressed"),
        count("forgotten"),
        count("selected"),
    ))
}
