use clap::Args;
use serde_json::{Value, json};

use super::{CliError, client::Server, output};

/// List the deleted schedules that can be restored, the last deleted first
#[derive(Debug, Args)]
pub(super) struct Deleted {
    #[command(flatten)]
    server: Server,
    /// The namespace that they were in
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Maximum number of schedules, 1 to 200
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const DELETED: &str = "query ($namespace: String!, $first: Int!) {
    found: deletedSchedules(namespace: $namespace, first: $first) {
        nodes { id name version deletedAt keptUntil module }
        pageInfo { hasNextPage }
    }
}";

impl Deleted {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let asked = json!({ "namespace": self.namespace, "first": self.limit });
        let mut answer =
            self.server.ask("list the deleted schedules", DELETED, asked).await?["found"].take();
        if self.json {
            return output::json(&answer["nodes"].take());
        }
        let row = |one: &Value| {
            [
                output::cell(&one["id"]),
                output::cell(&one["name"]),
                output::cell(&one["deletedAt"]),
                output::cell(&one["keptUntil"]),
            ]
        };
        let rows: Vec<[String; 4]> =
            answer["nodes"].as_array().into_iter().flatten().map(row).collect();
        output::table(["ID", "NAME", "DELETED", "KEPT UNTIL"], &rows)?;
        if answer["pageInfo"]["hasNextPage"] == true {
            output::line(format!("there are more than {}: give a higher --limit", self.limit))?;
        }
        Ok(())
    }
}
