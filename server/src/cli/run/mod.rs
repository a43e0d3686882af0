//! One run from the command line: stopped, or done again.

mod again;
mod cancel;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{CliError, client::Server, output};

/// Cancel a run, or do it again; 'carillon runs' lists them
#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Cancel(cancel::Cancel),
    Retry(again::Retry),
    Rerun(again::Rerun),
}

impl Run {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self.action {
            Action::Cancel(cancel) => cancel.run().await,
            Action::Retry(retry) => retry.run().await,
            Action::Rerun(rerun) => rerun.run().await,
        }
    }
}

/// One run of a server.
#[derive(Debug, Args)]
struct One {
    #[command(flatten)]
    server: Server,
    /// The run's id
    run: Uuid,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// What is told of a run.
const FACTS: &str = "id state trigger scheduledAt attempt retryOf cancel { by at reason }";

impl One {
    /// The run that a mutation by `$id` gives.
    async fn order(
        &self,
        action: &'static str,
        query: &str,
        mut variables: Value,
    ) -> Result<Value, CliError> {
        variables["id"] = json!(self.run);
        Ok(self.server.ask(action, query, variables).await?["done"]["run"].take())
    }

    fn tell(&self, run: &Value, line: impl FnOnce(&str) -> String) -> Result<(), CliError> {
        if self.json {
            return output::json(run);
        }
        output::line(line(run["id"].as_str().unwrap_or_default()))
    }
}
