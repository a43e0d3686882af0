//! What the end of a job means for its attempt.

use entity::job::State;
use serde_json::{Value, json};

use super::watcher::JobNews;
use crate::target::{AttemptOutcome, Invocation, WorkerTarget, completed};

/// Why a job must end before its worker has ended it.
#[derive(Clone, Copy)]
pub(super) enum EarlyEnd {
    TimedOut,
    Cancelled,
}

/// The attempt's outcome, from the last news of its job.
pub(super) fn ended(
    news: JobNews,
    ending: Option<EarlyEnd>,
    definition: &WorkerTarget,
    invocation: &Invocation,
) -> AttemptOutcome {
    let JobNews { state, worker, output, error, is_final, .. } = news;
    let seen = |more: Value| {
        let mut seen = json!({ "worker": worker });
        if let (Some(seen), Value::Object(more)) = (seen.as_object_mut(), more) {
            seen.extend(more);
        }
        seen
    };
    let who = worker.as_deref().unwrap_or("an unknown worker");
    match ending {
        Some(EarlyEnd::Cancelled) => return AttemptOutcome::Cancelled { output: seen(json!({})) },
        Some(EarlyEnd::TimedOut) => {
            let limit = invocation.timeout;
            let queue = &definition.queue;
            let message = match &worker {
                Some(worker) => format!("the worker {worker} did not end it within {limit:?}"),
                None => format!("no worker of the queue {queue} took it within {limit:?}"),
            };
            return AttemptOutcome::TimedOut { message, output: seen(json!({})) };
        }
        None => {}
    }
    match state {
        Some(State::Succeeded) => completed(who, output.unwrap_or_default()),
        Some(State::Failed) => AttemptOutcome::Failed {
            message: error.unwrap_or_default(),
            output: seen(json!({ "retry": !is_final })),
        },
        Some(State::Lost) => {
            // A worker that left immediately may be gone before its name could be read.
            let who = worker
                .as_ref()
                .map_or_else(|| "its worker".to_owned(), |worker| format!("the worker {worker}"));
            let message = format!("{who} was lost: it left, or was silent for too long");
            AttemptOutcome::Failed { message, output: seen(json!({})) }
        }
        Some(State::Cancelled | State::Waiting | State::Held) | None => AttemptOutcome::Failed {
            message: "its job was withdrawn".to_owned(),
            output: seen(json!({})),
        },
    }
}
