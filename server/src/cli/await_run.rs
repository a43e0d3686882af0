//! Waiting for a run to settle.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    CliError,
    client::{ClientError, Server},
    output,
    progress::ProgressLine,
};
use crate::{clock::Clock, config::Span};

/// The polling interval.
pub(super) const BETWEEN: Duration = Duration::from_millis(500);

const RUN: &str = "query ($id: UUID!) {
    run(id: $id) { id state scheduledAt startedAt finishedAt durationMs attempt error idempotencyKey }
}";

/// Whether a run has settled.
pub(super) fn has_settled(run: &Value) -> bool {
    matches!(run["state"].as_str(), Some("SUCCEEDED" | "FAILED" | "TIMED_OUT" | "CANCELLED"))
}

/// Polls a run until it has settled, and returns it.
pub(super) async fn settled(
    server: &Server,
    id: &Value,
    limit: Option<Span>,
) -> Result<Value, CliError> {
    const ACTION: &str = "wait for the run";
    let clock = Clock::system();
    let began = clock.instant();
    let progress = ProgressLine::begin(ACTION);
    loop {
        let run = server.ask(ACTION, RUN, json!({ "id": id })).await?["run"].take();
        if run.is_null() {
            let problem = "it is gone".to_owned();
            return Err(ClientError::Refused { action: ACTION, problem }.into());
        }
        if has_settled(&run) {
            return Ok(run);
        }
        let state = output::cell(&run["state"]).to_lowercase();
        progress.tell(format_args!("{state}, attempt {}", run["attempt"]));
        if let Some(limit) = limit.filter(|limit| clock.instant() - began >= limit.0) {
            let id = output::cell(id);
            let problem = format!("after {limit} the run {id} is still {state}; it continues");
            return Err(ClientError::Failed { action: ACTION, problem }.into());
        }
        clock.sleep(BETWEEN).await;
    }
}

/// Fails unless the run succeeded, so that waiting commands exit with the run's status.
pub(super) fn succeeded(run: &Value) -> Result<(), CliError> {
    if run["state"] == "SUCCEEDED" {
        return Ok(());
    }
    let state = output::cell(&run["state"]).to_lowercase().replace('_', " ");
    let error = run["error"].as_str().map(|error| format!(": {}", output::one_line(error)));
    let id = output::cell(&run["id"]);
    Err(CliError::RunFailed(format!("run {id} {state}{}", error.unwrap_or_default())))
}
