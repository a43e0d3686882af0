//! Tasks that are carried out by a user's own program, a worker, which pulls them from a queue. The
//! worker may run anywhere and be written in any language; docs/workers.md describes the protocol.

use std::{fmt, pin::Pin};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{AttemptOutcome, Invocation, TargetError, log::AttemptLog, result};

/// Maximum length of the name of a queue, a task or a tag.
const MAX_NAME: usize = 64;
/// Maximum size of an input: the same as for the body of a request.
const MAX_INPUT_BYTES: usize = 256 * 1024;
const MAX_TAGS: usize = 16;

/// A task for a worker that pulls from the queue:
/// `{"worker": {"queue": "emails", "task": "send"}}`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Worker")]
pub struct WorkerTarget {
    /// The queue from which workers pull it: 1 to 64 of a-z 0-9 . _ -
    pub queue: String,
    /// The name of the worker's task to run: 1 to 64 of a-z A-Z 0-9 . _ -
    pub task: String,
    /// The input that the worker receives; texts in it may be templates. The run's context if left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Only workers that have all of these tags take the task; up to 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// Passes jobs to workers and waits until they end.
pub trait Jobs: Send + Sync + fmt::Debug {
    /// Carries out an attempt. If the future is dropped, the waiting ends, and later requests of
    /// the worker change nothing.
    fn carry_out<'a>(
        &'a self,
        definition: &'a WorkerTarget,
        invocation: &'a Invocation,
        log: &'a AttemptLog<'a>,
        stop: &'a CancellationToken,
    ) -> Pin<Box<dyn Future<Output = AttemptOutcome> + Send + 'a>>;
}

/// Whether a text may be the name of a queue.
pub fn is_queue_name(name: &str) -> bool {
    is_made_of(name, ".-_")
}

/// Whether a text may be a tag of a worker.
pub fn is_worker_tag(tag: &str) -> bool {
    is_made_of(tag, ".-_=")
}

fn is_made_of(name: &str, marks: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || marks.contains(c);
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(fits)
}

/// Fails, with the reason, if a worker's output cannot be stored.
pub fn check_output(output: &Value) -> Result<(), String> {
    // Values that are not objects are stored inside an object.
    let object = if output.is_object() { output.clone() } else { json!({ "value": output }) };
    result::keep(&mut json!({}), object)
}

/// The outcome of an attempt whose job a worker completed. If the output is an object, it is the
/// task's result for its run.
pub fn completed(worker: &str, output: Value) -> AttemptOutcome {
    let mut seen = json!({ "worker": worker });
    let kept = match output {
        Value::Null => Ok(()),
        object @ Value::Object(_) => result::keep(&mut seen, object),
        value @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            seen["value"] = value;
            Ok(())
        }
    };
    match kept {
        Ok(()) => AttemptOutcome::Succeeded { output: seen },
        Err(message) => AttemptOutcome::Failed { message, output: seen },
    }
}

fn check_size(input: &Value) -> Result<(), TargetError> {
    let size = input.to_string().len();
    if size <= MAX_INPUT_BYTES {
        return Ok(());
    }
    let problem = format!("has {size} bytes; the limit is {MAX_INPUT_BYTES}");
    let help = "pass the location where the worker finds it";
    Err(TargetError::invalid("worker.input", problem, help))
}

impl WorkerTarget {
    /// Fails if the task cannot be carried out as written.
    pub(super) fn check(&self) -> Result<(), TargetError> {
        let name = "write 1 to 64 of a-z 0-9 . _ -";
        if !is_queue_name(&self.queue) {
            return Err(TargetError::invalid("worker.queue", "is not a valid queue name", name));
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        if !(1..=MAX_NAME).contains(&self.task.len()) || !self.task.chars().all(fits) {
            let help = "write 1 to 64 of a-z A-Z 0-9 . _ -";
            return Err(TargetError::invalid("worker.task", "is not a valid task name", help));
        }
        if self.tags.len() > MAX_TAGS {
            let problem = format!("has {} tags; the limit is {MAX_TAGS}", self.tags.len());
            return Err(TargetError::invalid("worker.tags", problem, "leave some out"));
        }
        if let Some(index) = self.tags.iter().position(|tag| !is_worker_tag(tag)) {
            let field = format!("worker.tags[{index}]");
            return Err(TargetError::invalid(
                field,
                "is not a valid tag",
                "write 1 to 64 of a-z 0-9 . _ - =",
            ));
        }
        self.input.as_ref().map_or(Ok(()), check_size)
    }

    /// Checks the task after its templates are rendered. Without an input, the context is sent.
    pub(super) fn check_filled(&self, context: &Value) -> Result<(), TargetError> {
        self.check()?;
        if self.input.is_none() { check_size(context) } else { Ok(()) }
    }
}
