use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{
    CliError,
    client::{Server, entry_count},
    named, output, search,
};
use crate::search::SearchedList;

/// List runs, newest first
#[derive(Debug, Args)]
pub(super) struct Runs {
    #[command(flatten)]
    server: Server,
    /// Namespace of the runs
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Only runs of the schedule with this name or id
    #[arg(long, value_name = "NAME")]
    schedule: Option<String>,
    /// Only runs in one of these states
    #[arg(long, value_enum, value_name = "STATE")]
    state: Vec<State>,
    /// Only runs that match this search, such as 'state:failed took:>5m -tag:test'
    #[arg(long, value_name = "SEARCH", allow_hyphen_values = true)]
    search: Option<String>,
    /// Only runs that have not ended
    #[arg(long)]
    live: bool,
    /// Maximum number of runs, 1 to 100000
    #[arg(long, default_value_t = 20, value_parser = entry_count())]
    limit: u32,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum State {
    Queued,
    Running,
    Retrying,
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Queued => "QUEUED",
            Self::Running => "RUNNING",
            Self::Retrying => "RETRYING",
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
            Self::TimedOut => "TIMED_OUT",
            Self::Cancelled => "CANCELLED",
        }
    }
}

const RUNS: &str = "query ($namespace: String!, $filter: RunFilter, $search: String,
    $first: Int, $after: String, $count: Boolean! = false) {
    all: runs(namespace: $namespace, filter: $filter, search: $search, first: $first, after: $after) {
        nodes {
            id state trigger scheduledAt startedAt finishedAt durationMs latenessMs attempt
            maxAttempts error schedule { name }
        }
        pageInfo { hasNextPage endCursor } totalCount @include(if: $count)
    }
}";

impl Runs {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "list the runs";
        search::check(SearchedList::Runs, "--search", self.search.as_deref())?;
        let mut filter = json!({});
        if let Some(name) = &self.schedule {
            let id = named::id(&self.server, ACTION, &self.namespace, name).await?;
            filter["scheduleId"] = id;
        }
        if !self.state.is_empty() {
            filter["states"] = self.state.iter().map(|state| state.word()).collect();
        }
        if self.live {
            filter["live"] = json!(true);
        }
        let variables = json!({
            "namespace": self.namespace,
            "filter": filter,
            "search": self.search,
        });
        let (runs, left) = self.server.pages(ACTION, RUNS, variables, self.limit).await?;
        if self.json { output::json(&runs) } else { print(&runs) }?;
        left.tell(runs.len());
        Ok(())
    }
}

fn print(runs: &[Value]) -> Result<(), CliError> {
    let row = |run: &Value| {
        let took = run["durationMs"].as_i64().map_or("-".to_owned(), |ms| format!("{ms} ms"));
        let state = output::cell(&run["state"]).to_lowercase();
        [
            output::cell(&run["id"]),
            output::cell(&run["schedule"]["name"]),
            state,
            output::cell(&run["scheduledAt"]),
            took,
        ]
    };
    let rows: Vec<[String; 5]> = runs.iter().map(row).collect();
    output::table(["RUN", "SCHEDULE", "STATE", "SCHEDULED", "TOOK"], &rows)
}
