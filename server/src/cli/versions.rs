use clap::Args;
use serde_json::Value;

use super::{CliError, client::entry_count, named::NamedSchedule, output};

/// List a schedule's definitions, newest first
#[derive(Debug, Args)]
pub(super) struct Versions {
    #[command(flatten)]
    named: NamedSchedule,
    /// Maximum number of versions, 1 to 100000
    #[arg(long, default_value_t = 20, value_parser = entry_count())]
    limit: u32,
    /// Answer as JSON, with each complete definition
    #[arg(long)]
    json: bool,
}

const VERSIONS: &str =
    "query ($id: UUID!, $first: Int!, $after: String, $count: Boolean! = false) {
    schedule(id: $id) {
        all: versions(first: $first, after: $after) {
            nodes { version by at change snapshot }
            pageInfo { hasNextPage endCursor } totalCount @include(if: $count)
        }
    }
}";

impl Versions {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let pages = self.named.pages("list the versions", VERSIONS, self.limit);
        let (versions, left) = pages.await?;
        if self.json { output::json(&versions) } else { print(&versions) }?;
        left.tell(versions.len());
        Ok(())
    }
}

fn print(versions: &[Value]) -> Result<(), CliError> {
    let row = |version: &Value| {
        // A description may span several lines, but the table has one line per version.
        let change = output::one_line(&output::cell(&version["change"]));
        [
            version["version"].to_string(),
            output::cell(&version["at"]),
            output::cell(&version["by"]),
            change,
        ]
    };
    let rows: Vec<[String; 4]> = versions.iter().map(row).collect();
    output::table(["VERSION", "AT", "BY", "CHANGE"], &rows)
}
