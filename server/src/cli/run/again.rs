use clap::Args;
use serde_json::json;

use super::{FACTS, One};
use crate::cli::CliError;

/// Do all of a settled run again, as its workflow is defined now
#[derive(Debug, Args)]
pub(super) struct Retry {
    #[command(flatten)]
    one: One,
}

/// Do a settled run again from where it failed, as its workflow was defined then
#[derive(Debug, Args)]
pub(super) struct Rerun {
    #[command(flatten)]
    one: One,
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
