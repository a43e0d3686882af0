use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{FACTS, progress};
use crate::cli::{
    CliError,
    client::{Server, entry_count},
    named, output,
};

/// List backfills, newest first
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    server: Server,
    /// Namespace of the backfills
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Only backfills of the schedule with this name or id
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,
    /// Only backfills in this state
    #[arg(long, value_enum)]
    state: Option<State>,
    /// Maximum number of entries, 1 to 100000
    #[arg(long, default_value_t = 20, value_parser = entry_count())]
    limit: u32,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum State {
    Running,
    Paused,
    Cancelled,
    Completed,
}

impl List {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "list the backfills";
        let query = format!(
            "query ($namespace: String!, $schedule: UUID, $state: BackfillState, $first: Int,
                    $after: String, $count: Boolean! = false) {{
                all: backfills(
                    namespace: $namespace, scheduleId: $schedule, state: $state, first: $first,
                    after: $after
                ) {{
                    nodes {{ {FACTS} }} pageInfo {{ hasNextPage endCursor }}
                    totalCount @include(if: $count)
                }}
            }}"
        );
        let schedule = match &self.schedule {
            Some(name) => named::id(&self.server, ACTION, &self.namespace, name).await?,
            None => Value::Null,
        };
        let state = self.state.map(|state| match state {
            State::Running => "RUNNING",
            State::Paused => "PAUSED",
            State::Cancelled => "CANCELLED",
            State::Completed => "COMPLETED",
        });
        let variables =
            json!({ "namespace": self.namespace, "schedule": schedule, "state": state });
        let (backfills, left) = self.server.pages(ACTION, &query, variables, self.limit).await?;
        if self.json { output::json(&backfills) } else { print(&backfills) }?;
        left.tell(backfills.len());
        Ok(())
    }
}

fn print(backfills: &[Value]) -> Result<(), CliError> {
    let row = |backfill: &Value| {
        [
            output::cell(&backfill["id"]),
            output::cell(&backfill["schedule"]["name"]),
            output::cell(&backfill["state"]).to_lowercase(),
            output::cell(&backfill["from"]),
            output::cell(&backfill["to"]),
            progress(backfill),
            output::cell(&backfill["pause"]["reason"]),
        ]
    };
    let rows: Vec<[String; 7]> = backfills.iter().map(row).collect();
    output::table(["BACKFILL", "SCHEDULE", "STATE", "FROM", "TO", "DONE", "WHY PAUSED"], &rows)
}
