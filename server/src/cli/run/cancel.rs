use clap::Args;
use serde_json::json;

use super::{FACTS, OneRun};
use crate::cli::CliError;

/// Cancel a run: at once if it is waiting, or through its node if it is running
#[derive(Debug, Args)]
pub(super) struct Cancel {
    #[command(flatten)]
    one: OneRun,
    /// Reason, for the run and the audit log
    #[arg(long)]
    reason: Option<String>,
}

impl Cancel {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let query = format!(
            "mutation ($id: UUID!, $reason: String) {{
                done: cancelRun(id: $id, reason: $reason) {{ run {{ {FACTS} }} }}
            }}"
        );
        let variables = json!({ "reason": self.reason });
        let run = self.one.order("cancel the run", &query, variables).await?;
        self.one.tell(&run, |id| match run["state"].as_str() {
            Some("RUNNING") => format!("run {id} is running; its node was asked to stop it"),
            _ => format!("run {id} is cancelled"),
        })
    }
}
