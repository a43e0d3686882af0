use clap::Args;
use serde_json::{Value, json};

use super::{CliError, named::NamedSchedule, output};

/// List a schedule's definitions, newest first
#[derive(Debug, Args)]
pub(super) struct Versions {
    #[command(flatten)]
    named: NamedSchedule,
    /// Maximum number of versions, 1 to 200
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    /// Answer as JSON, with each complete definition
    #[arg(long)]
    json: bool,
}

const VERSIONS: &str = "query ($id: UUID!, $first: Int!) {
    schedule(id: $id) { versions(first: $first) { nodes { version by at change snapshot } } }
}";

impl Versions {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let variables = json!({ "first": self.limit });
        let schedule = self.named.ask("list the versions", VERSIONS, variables).await?;
        let versions = &schedule["versions"]["nodes"];
        if self.json { output::json(versions) } else { print(versions) }
    }
}

fn print(versions: &Value) -> Result<(), CliError> {
    let row = |version: &Value| {
        // A change may span several lines; here each version has one.
        let change = output::one_line(&output::cell(&version["change"]));
        [
            version["version"].to_string(),
            output::cell(&version["at"]),
            output::cell(&version["by"]),
            change,
        ]
    };
    let rows: Vec<[String; 4]> = versions.as_array().into_iter().flatten().map(row).collect();
    output::table(["VERSION", "AT", "BY", "CHANGE"], &rows)
}
