use clap::Args;
use serde_json::json;

use super::{FACTS, MAX_FIRES, NamedSchedule, print, tell_left};
use crate::cli::{CliError, output};

/// List the waiting fires, in the order in which they will start
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    named: NamedSchedule,
    /// Maximum number of fires, 1 to 1000
    #[arg(
        long,
        default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_FIRES))
    )]
    limit: u32,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

impl List {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let query =
            format!("query ($id: UUID!, $first: Int!) {{ schedule(id: $id) {{ {FACTS} }} }}");
        let variables = json!({ "first": self.limit });
        let schedule = self.named.ask("list the buffer", &query, variables).await?;
        if self.json { output::json(&schedule) } else { print(&schedule) }?;
        tell_left(&schedule);
        Ok(())
    }
}
