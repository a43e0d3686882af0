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

/// How long a waiting command tolerates a server that does not answer, such as during a restart.
pub(super) const AWAY: Duration = Duration::from_secs(60);

const RUN: &str = "query ($id: UUID!) {
    run(id: $id) { id state scheduledAt startedAt finishedAt durationMs attempt error idempotencyKey }
}";

/// Whether a run has settled.
pub(super) fn has_settled(run: &Value) -> bool {
    matches!(run["state"].as_str(), Some("SUCCEEDED" | "FAILED" | "TIMED_OUT" | "CANCELLED"))
}

/// Asks until there is an answer. Gives up if a failure cannot pass by itself, or if the failures
/// last for longer than `limit`.
pub(super) async fn patiently<T>(
    limit: Duration,
    ask: impl AsyncFn() -> Result<T, CliError>,
) -> Result<T, CliError> {
    let clock = Clock::system();
    let began = clock.instant();
    loop {
        match ask().await {
            Err(error) if may_pass(&error) && clock.instant() - began < limit => {
                clock.sleep(BETWEEN).await;
            }
            answer => return answer,
        }
    }
}

/// Whether a failure may pass by itself, such as when a server is restarted or its database is
/// away.
fn may_pass(error: &CliError) -> bool {
    matches!(error, CliError::Client(ClientError::Unreachable { .. } | ClientError::Failed { .. }))
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
        let left = limit.map_or(AWAY, |limit| limit.0.saturating_sub(clock.instant() - began));
        let ask = async || server.ask(ACTION, RUN, json!({ "id": id })).await;
        let run = patiently(left.min(AWAY), ask).await?["run"].take();
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn away() -> CliError {
        let (server, problem) = ("http://a".to_owned(), "refused".to_owned());
        ClientError::Unreachable { server, problem }.into()
    }

    #[tokio::test]
    async fn a_failure_that_may_pass_is_tolerated_for_a_while() {
        let asked = Cell::new(0);
        let ask = async || {
            asked.set(asked.get() + 1);
            if asked.get() < 3 { Err(away()) } else { Ok(()) }
        };
        patiently(AWAY, ask).await.unwrap();
        assert_eq!(asked.get(), 3);
        let refused = async || {
            asked.set(asked.get() + 1);
            let problem = "it is gone".to_owned();
            Err::<(), CliError>(ClientError::Refused { action: "look", problem }.into())
        };
        patiently(AWAY, refused).await.unwrap_err();
        assert_eq!(asked.get(), 4, "a refusal does not pass");
        let down = async || Err::<(), CliError>(away());
        patiently(Duration::ZERO, down).await.unwrap_err();
    }
}
