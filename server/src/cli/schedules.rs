use clap::Args;
use serde_json::{Value, json};

use super::{
    CliError,
    client::{MAX_LISTED, Server, entry_count},
    output, search,
};
use crate::search::SearchedList;

/// List schedules, by name
#[derive(Debug, Args)]
pub(super) struct Schedules {
    #[command(flatten)]
    server: Server,
    /// Namespace of the schedules
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Only schedules that match this search, such as 'state:paused tag:billing next:<1h'
    #[arg(long, value_name = "SEARCH", allow_hyphen_values = true)]
    search: Option<String>,
    /// Maximum number of schedules, 1 to 100000 [default: all]
    #[arg(long, value_parser = entry_count())]
    limit: Option<u32>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const SCHEDULES: &str =
    "query ($namespace: String!, $search: String, $first: Int, $after: String, $count: Boolean! = false) {
    all: schedules(namespace: $namespace, search: $search, first: $first, after: $after) {
        nodes {
            id name note tags state timing { expressions zone } workflow { name }
            nextFireAt lastFireAt lastRun { id state }
        }
        pageInfo { hasNextPage endCursor } totalCount @include(if: $count)
    }
}";

impl Schedules {
    pub(super) async fn run(self) -> Result<(), CliError> {
        search::check(SearchedList::Schedules, "--search", self.search.as_deref())?;
        let variables = json!({
            "namespace": self.namespace,
            "search": self.search,
        });
        let limit = self.limit.unwrap_or(MAX_LISTED);
        let pages = self.server.pages("list the schedules", SCHEDULES, variables, limit);
        let (schedules, left) = pages.await?;
        if self.json { output::json(&schedules) } else { print(&schedules) }?;
        left.tell(schedules.len());
        Ok(())
    }
}

fn print(schedules: &[Value]) -> Result<(), CliError> {
    let row = |schedule: &Value| {
        let all = schedule["timing"]["expressions"].as_array();
        let when: Vec<_> = all.into_iter().flatten().filter_map(Value::as_str).collect();
        [
            output::cell(&schedule["name"]),
            output::cell(&schedule["state"]).to_lowercase(),
            when.join(" | "),
            output::cell(&schedule["timing"]["zone"]),
            output::cell(&schedule["nextFireAt"]),
            output::cell(&schedule["lastRun"]["state"]).to_lowercase(),
        ]
    };
    let rows: Vec<[String; 6]> = schedules.iter().map(row).collect();
    output::table(["SCHEDULE", "STATE", "WHEN", "ZONE", "NEXT", "LAST RUN"], &rows)
}
