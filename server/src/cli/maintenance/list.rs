use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::FACTS;
use crate::cli::{
    CliError,
    client::{Server, entry_count},
    output,
};

/// List maintenance windows: those that are planned or active, or with --state others
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    server: Server,
    /// Namespace of the windows
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Only windows in this state; may be given several times [default: planned and active]
    #[arg(long, value_enum)]
    state: Vec<State>,
    /// Maximum number of entries, 1 to 100000
    #[arg(long, default_value_t = 50, value_parser = entry_count())]
    limit: u32,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum State {
    Planned,
    Active,
    Ended,
    Cancelled,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Planned => "PLANNED",
            Self::Active => "ACTIVE",
            Self::Ended => "ENDED",
            Self::Cancelled => "CANCELLED",
        }
    }
}

impl List {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "list the maintenance windows";
        let query = format!(
            "query ($namespace: String!, $states: [MaintenanceState!], $first: Int,
                    $after: String, $count: Boolean! = false) {{
                all: maintenanceWindows(
                    namespace: $namespace, states: $states, first: $first, after: $after
                ) {{
                    nodes {{ {FACTS} }} pageInfo {{ hasNextPage endCursor }}
                    totalCount @include(if: $count)
                }}
            }}"
        );
        let states: &[State] = match self.state.as_slice() {
            [] => &[State::Planned, State::Active],
            states => states,
        };
        let states: Vec<&str> = states.iter().map(|state| state.word()).collect();
        let variables = json!({ "namespace": self.namespace, "states": states });
        let (windows, left) = self.server.pages(ACTION, &query, variables, self.limit).await?;
        if self.json { output::json(&windows) } else { print(&windows) }?;
        left.tell(windows.len());
        Ok(())
    }
}

fn print(windows: &[Value]) -> Result<(), CliError> {
    let row = |window: &Value| {
        [
            output::cell(&window["id"]),
            output::cell(&window["title"]),
            output::cell(&window["state"]).to_lowercase(),
            output::cell(&window["startsAt"]),
            output::cell(&window["endsAt"]),
            window["scheduleCount"].to_string(),
            output::cell(&window["search"]),
            output::cell(&window["ticket"]),
        ]
    };
    let rows: Vec<[String; 8]> = windows.iter().map(row).collect();
    output::table(
        ["WINDOW", "TITLE", "STATE", "FROM", "UNTIL", "SCHEDULES", "SEARCH", "TICKET"],
        &rows,
    )
}
