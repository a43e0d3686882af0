use clap::Args;
use serde_json::json;

use super::{FACTS, OneRun};
use crate::cli::CliError;

/// Retry a settled run from the start, with the current definition of its workflow
#[derive(Debug, Args)]
pub(super) struct Retry {
    #[command(flatten)]
    one: OneRun,
}

/// Rerun a settled run from where it failed, with the workflow definition that it began with
#[derive(Debug, Args)]
pub(super) struct Rerun {
    #[command(flatten)]
    one: OneRun,
}

impl Retry {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let query =
            format!("mutation ($id: UUID!) {{ done: retryRun(id: $id) {{ run {{ {FACTS} }} }} }}");
        let run = self.one.order("retry the run", &query, json!({})).await?;
        self.one.tell(&run, |id| format!("run {id}"))
    }
}

impl Rerun {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let query = format!(
            "mutation ($id: UUID!) {{ done: rerunFromFailed(runId: $id) {{ run {{ {FACTS} }} }} }}"
        );
        let run = self.one.order("rerun the run", &query, json!({})).await?;
        self.one.tell(&run, |id| format!("run {id}"))
    }
}
