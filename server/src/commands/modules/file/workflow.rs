use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use timetable::retry;

use super::scalars::Millis;
use crate::{
    commands::secrets,
    model::{Condition, Definition, Task, When},
    target::Target,
};

/// Tasks that depend on each other; several schedules may run them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkflowEntry {
    /// 1 to 100.
    tasks: Vec<TaskEntry>,
    /// The time limit of the whole run, all attempts of all tasks; up to 30 days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<Millis>,
    /// The maximum number of tasks of one run in progress at the same time; 1 to 100, 8 if left
    /// out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_parallel: Option<i64>,
    /// The tags that a node must have to take a run; up to 32.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    runs_on: Vec<String>,
}

/// One step of a workflow.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskEntry {
    /// Unique in the workflow; `main` if left out.
    #[serde(default = "main", skip_serializing_if = "is_main")]
    name: String,
    /// What it does.
    #[serde(serialize_with = "tidy")]
    target: Target,
    /// When an attempt is asked to stop; up to 7 days, 5m if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<Millis>,
    /// How long stopping may take; up to 1 hour, 10s if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kill_grace: Option<Millis>,
    /// When a failed attempt is followed by another; one attempt if left out.
    #[serde(default, skip_serializing_if = "RetryEntry::is_empty")]
    retry: RetryEntry,
    /// Only these failures are retried; all if left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    retry_on: Vec<Condition>,
    /// The tasks that must have ended before it; up to 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    needs: Vec<String>,
    /// How the tasks in `needs` must have ended.
    #[serde(default, skip_serializing_if = "is_usual")]
    when: When,
    /// Whether the run may succeed although this task failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    allow_failure: bool,
}

/// When a failed attempt is followed by another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct RetryEntry {
    /// The total number of attempts, including the first one: 1 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_attempts: Option<i32>,
    /// How the delay grows from one attempt to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Backoff>")]
    backoff: Option<retry::Backoff>,
    /// The delay before the second attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    initial: Option<Millis>,
    /// The longest delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Millis>,
    /// The share of the delay that is random, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<f64>,
}

/// The kinds of backoff, as the calculator parses them.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is asked for")]
enum Backoff {
    /// The delay stays the same.
    Fixed,
    /// The delay doubles.
    Exponential,
}

const TIMEOUT: i64 = 300_000;
const KILL_GRACE: i64 = 10_000;

fn main() -> String {
    "main".to_owned()
}

fn is_main(name: &str) -> bool {
    name == "main"
}

fn is_usual(when: &When) -> bool {
    *when == When::default()
}

/// A target without members that have their default value.
fn tidy<S: Serializer>(target: &Target, serializer: S) -> Result<S::Ok, S::Error> {
    let mut json = serde_json::to_value(target).map_err(serde::ser::Error::custom)?;
    if let Some(http) = json.get_mut("http").and_then(serde_json::Value::as_object_mut) {
        let usual = serde_json::json!({
            "method": "POST", "max_redirects": 5, "expected_status": ["200-299"],
        });
        http.retain(|key, value| usual.get(key) != Some(value));
    }
    json.serialize(serializer)
}

impl RetryEntry {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn of(policy: &retry::Policy) -> Self {
        let usual = retry::Policy::default();
        Self {
            max_attempts: unless(policy.max_attempts, usual.max_attempts),
            backoff: unless(policy.backoff, usual.backoff),
            initial: unless(policy.initial_ms, usual.initial_ms).map(Millis),
            max: unless(policy.max_ms, usual.max_ms).map(Millis),
            jitter: unless(policy.jitter, usual.jitter),
        }
    }
}

/// The value, unless it is the default.
pub(super) fn unless<T: PartialEq>(value: T, usual: T) -> Option<T> {
    (value != usual).then_some(value)
}

impl WorkflowEntry {
    /// The fields of all tasks that contain a credential in plain text.
    pub(crate) fn literal_credentials(&self) -> Vec<String> {
        let of_task = |task: &TaskEntry| {
            let name = task.name.clone();
            let fields = task.literal_credentials().into_iter();
            fields.map(move |field| format!("tasks[{name}].{field}"))
        };
        self.tasks.iter().flat_map(of_task).collect()
    }

    /// Whether a task is a program that must run as root.
    pub(crate) fn needs_root(&self) -> bool {
        self.tasks.iter().any(TaskEntry::needs_root)
    }

    pub(in super::super) fn definition(self) -> Definition {
        let tasks = self.tasks.into_iter().map(TaskEntry::task).collect();
        Definition {
            timeout_ms: self.timeout.map(|timeout| timeout.0),
            max_parallel: self.max_parallel.unwrap_or(Definition::USUAL_PARALLEL),
            runs_on: self.runs_on,
            ..Definition::of(tasks)
        }
    }

    /// The entry that declares the workflow.
    pub(crate) fn of(definition: &Definition) -> Self {
        Self {
            tasks: definition.tasks.iter().map(TaskEntry::of).collect(),
            timeout: definition.timeout_ms.map(Millis),
            max_parallel: unless(definition.max_parallel, Definition::USUAL_PARALLEL),
            runs_on: definition.runs_on.clone(),
        }
    }
}

impl WorkflowEntry {
    /// The entry with its secrets masked.
    pub(in super::super) fn masked(self) -> Self {
        Self { tasks: self.tasks.into_iter().map(TaskEntry::masked).collect(), ..self }
    }
}

impl TaskEntry {
    /// The entry with its secrets masked.
    pub(in super::super) fn masked(self) -> Self {
        Self { target: secrets::masked(&self.target), ..self }
    }

    pub(in super::super) fn definition(self) -> Definition {
        Definition::single(self.task())
    }

    fn task(self) -> Task {
        let usual = retry::Policy::default();
        let retry = self.retry;
        Task {
            name: self.name,
            target: self.target,
            timeout_ms: self.timeout.map_or(TIMEOUT, |span| span.0),
            kill_grace_ms: self.kill_grace.map_or(KILL_GRACE, |span| span.0),
            retry: retry::Policy {
                max_attempts: retry.max_attempts.unwrap_or(usual.max_attempts),
                backoff: retry.backoff.unwrap_or(usual.backoff),
                initial_ms: retry.initial.map_or(usual.initial_ms, |span| span.0),
                max_ms: retry.max.map_or(usual.max_ms, |span| span.0),
                jitter: retry.jitter.unwrap_or(usual.jitter),
            },
            retry_on: self.retry_on,
            needs: self.needs,
            when: self.when,
            allow_failure: self.allow_failure,
        }
    }

    /// The fields that contain a credential in plain text, which no server accepts.
    pub(crate) fn literal_credentials(&self) -> Vec<String> {
        secrets::literal::literals(&self.target)
    }

    /// Whether the task is a program that must run as root, which no server accepts.
    pub(crate) fn needs_root(&self) -> bool {
        matches!(&self.target, Target::Command(command) if command.user.as_deref() == Some("root"))
    }

    /// The entry that declares the task.
    pub(crate) fn of(task: &Task) -> Self {
        Self {
            name: task.name.clone(),
            target: task.target.clone(),
            timeout: unless(task.timeout_ms, TIMEOUT).map(Millis),
            kill_grace: unless(task.kill_grace_ms, KILL_GRACE).map(Millis),
            retry: RetryEntry::of(&task.retry),
            retry_on: task.retry_on.clone(),
            needs: task.needs.clone(),
            when: task.when,
            allow_failure: task.allow_failure,
        }
    }
}
