use clap::Args;
use serde_json::{Value, json};

use super::{
    CliError,
    client::{Server, entry_count},
    output,
};

/// List the deleted schedules that can be restored, the last deleted first
#[derive(Debug, Args)]
pub(super) struct Deleted {
    #[command(flatten)]
    server: Server,
    /// The namespace that they were in
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Maximum number of schedules, 1 to 100000
    #[arg(long, default_value_t = 50, value_parser = entry_count())]
    limit: u32,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

const DELETED: &str = "query ($namespace: String!, $first: Int!, $after: String,
    $count: Boolean! = false) {
    all: deletedSchedules(namespace: $namespace, first: $first, after: $after) {
        nodes { id name version deletedAt keptUntil module }
        pageInfo { hasNextPage endCursor } totalCount @include(if: $count)
    }
}";

impl Deleted {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let asked = json!({ "namespace": self.namespace });
        let pages = self.server.pages("list the deleted schedules", DELETED, asked, self.limit);
        let (deleted, left) = pages.await?;
        if self.json { output::json(&deleted) } else { print(&deleted) }?;
        left.tell(deleted.len());
        Ok(())
    }
}

fn print(deleted: &[Value]) -> Result<(), CliError> {
    let row = |one: &Value| {
        [
            output::cell(&one["id"]),
            output::cell(&one["name"]),
            output::cell(&one["deletedAt"]),
            output::cell(&one["keptUntil"]),
        ]
    };
    let rows: Vec<[String; 4]> = deleted.iter().map(row).collect();
    output::table(["ID", "NAME", "DELETED", "KEPT UNTIL"], &rows)
}
