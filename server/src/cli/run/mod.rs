//! One run from the command line: show, cancel, retry or rerun it.

mod again;
mod cancel;
mod logs;
mod show;

use clap::{Args, Subcommand};
pub(super) use logs::Logs;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    CliError,
    client::{ClientError, Server},
    output,
};

/// Show, cancel, retry or rerun a run; 'carillon runs' lists them
#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Show(show::Show),
    Logs(Logs),
    Cancel(cancel::Cancel),
    Retry(again::Retry),
    Rerun(again::Rerun),
}

impl Run {
    pub(super) async fn run(self) -> Result<(), CliError> {
        match self.action {
            Action::Show(show) => show.run().await,
            Action::Logs(logs) => logs.run().await,
            Action::Cancel(cancel) => cancel.run().await,
            Action::Retry(retry) => retry.run().await,
            Action::Rerun(rerun) => rerun.run().await,
        }
    }
}

/// One run of a server.
#[derive(Debug, Args)]
struct OneRun {
    #[command(flatten)]
    server: Server,
    /// The run's id
    run: Uuid,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// The fields of a run that the commands show.
const FACTS: &str = "id state trigger scheduledAt attempt retryOf cancel { by at reason }";

impl OneRun {
    /// Executes a mutation by `$id`, and returns its run.
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

/// Fails if no run was found.
fn refused_if_none(action: &'static str, id: Uuid, found: &Value) -> Result<(), CliError> {
    if !found.is_null() {
        return Ok(());
    }
    let problem = format!("there is no run with the id {id}; 'carillon runs' lists them");
    Err(ClientError::Refused { action, problem }.into())
}
