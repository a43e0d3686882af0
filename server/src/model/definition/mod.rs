//! The definition of a workflow's version: its tasks, their dependencies, and how each is carried
//! out.
//!
//! - `graph`: which task waits for which; detects cycles, with their path
//! - `condition`: which failures are worth another attempt
//! - `known`: a cache of the definitions that a node has read
//! - `validation`: the limits of a definition
//! - `arbitrary`: any definition, for property tests

#[cfg(test)]
pub(crate) mod arbitrary;
mod condition;
mod error;
mod graph;
mod known;
mod validation;

use std::time::Duration;

use entity::Strings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timetable::retry;

pub use condition::Condition;
pub use error::DefinitionError;
pub(crate) use graph::Graph;
pub(crate) use known::{CompiledDefinition, Definitions};
pub use validation::DefinitionProblem;

use crate::{
    config::Tags,
    target::{Origin, Target},
};

/// The tasks of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// 1 to 100.
    pub tasks: Vec<Task>,
    /// The time limit of the whole run, for all attempts of all tasks from the first start on, in
    /// milliseconds: 1 to 30 days. `None` leaves only the tasks' own limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
    /// Maximum number of tasks of one run in progress at the same time: 1 to 100.
    #[serde(default = "usual_parallel", skip_serializing_if = "is_usual_parallel")]
    pub max_parallel: i64,
    /// The tags that a node must have to take a run: up to 32. If empty, any node may take it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs_on: Vec<String>,
}

/// One step of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Unique within the workflow.
    pub name: String,
    /// The action of the task.
    pub target: Target,
    /// After this many milliseconds the task is asked to stop: 1 to 7 days.
    pub timeout_ms: i64,
    /// This many milliseconds later the task is killed: up to 1 hour.
    pub kill_grace_ms: i64,
    /// When a failed attempt is followed by another.
    pub retry: retry::Policy,
    /// Only these failures are retried; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retry_on: Vec<Condition>,
    /// The tasks that must have ended before this one starts: up to 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// How the tasks in `needs` must have ended; otherwise this task is skipped.
    #[serde(default, skip_serializing_if = "When::is_success")]
    pub when: When,
    /// Whether the run may succeed although this task failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_failure: bool,
}

/// How the tasks that a task needs must have ended for it to start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// All of them have succeeded.
    #[default]
    Success,
    /// One of them failed, or was skipped because an earlier task failed.
    Failure,
    /// All of them have ended, with any result.
    Always,
}

impl When {
    fn is_success(&self) -> bool {
        *self == Self::Success
    }
}

fn usual_parallel() -> i64 {
    Definition::USUAL_PARALLEL
}

fn is_usual_parallel(value: &i64) -> bool {
    *value == Definition::USUAL_PARALLEL
}

impl Definition {
    /// The default maximum number of tasks of one run in progress at the same time.
    pub const USUAL_PARALLEL: i64 = 8;

    /// A definition with these tasks, and defaults for everything else.
    pub fn of(tasks: Vec<Task>) -> Self {
        Self { tasks, timeout_ms: None, max_parallel: Self::USUAL_PARALLEL, runs_on: Vec::new() }
    }

    /// The tags that runs of this definition require, without duplicates; `None` for most
    /// definitions.
    pub fn asked_tags(&self) -> Option<Strings> {
        let Tags(tags) = Tags::new(self.runs_on.clone());
        (!tags.is_empty()).then_some(Strings(tags))
    }

    /// The origin of the first task. A node divides its places by origin.
    pub fn origin(&self) -> Option<Origin> {
        self.tasks.first()?.target.origin()
    }

    /// A workflow of one task.
    pub fn single(task: Task) -> Self {
        Self::of(vec![task])
    }

    /// The only task, if the definition has nothing else to do. The run then needs no plan: it
    /// makes one attempt after the other.
    pub fn only_task(&self) -> Option<&Task> {
        match (self.tasks.as_slice(), self.timeout_ms) {
            ([task], None) => Some(task),
            _ => None,
        }
    }

    /// Maximum number of attempts of its runs. If tasks count their own attempts, the run only
    /// counts how often a node takes it, without a limit.
    pub fn max_attempts(&self) -> i32 {
        self.only_task().map_or(1, |task| task.retry.max_attempts)
    }

    /// For each task, the names of the tasks that it needs directly or indirectly, which have ended
    /// before it.
    pub fn tasks_before(&self) -> Result<Vec<Vec<String>>, DefinitionProblem> {
        let graph = Graph::of(&self.tasks)?;
        let named = |index| {
            let tasks = self.tasks.iter().zip(graph.before(index));
            tasks.filter(|(_, before)| *before).map(|(task, _)| task.name.clone()).collect()
        };
        Ok((0..self.tasks.len()).map(named).collect())
    }
}

impl From<Task> for Definition {
    fn from(task: Task) -> Self {
        Self::single(task)
    }
}

impl Task {
    /// A task with this `target`, and defaults for everything else.
    pub fn new(name: impl Into<String>, target: Target) -> Self {
        Self {
            name: name.into(),
            target,
            timeout_ms: 300_000,
            kill_grace_ms: 10_000,
            retry: retry::Policy::default(),
            retry_on: Vec::new(),
            needs: Vec::new(),
            when: When::Success,
            allow_failure: false,
        }
    }

    /// How long until the task is asked to stop.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.unsigned_abs())
    }

    /// How long the task may take to stop.
    pub fn kill_grace(&self) -> Duration {
        Duration::from_millis(self.kill_grace_ms.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Noop;

    fn noop(name: impl Into<String>) -> Task {
        Task::new(name, Target::Noop(Noop::default()))
    }

    #[test]
    fn defaults_are_not_written_so_old_definitions_keep_their_text() {
        let json = serde_json::to_value(Definition::single(noop("main"))).unwrap();
        let keys: Vec<_> = json["tasks"][0].as_object().unwrap().keys().cloned().collect();
        assert_eq!(json.as_object().unwrap().len(), 1, "{json}");
        assert_eq!(keys.len(), 5, "{keys:?}");
        let read: Definition = serde_json::from_value(json).unwrap();
        assert_eq!(read, Definition::single(noop("main")));
    }

    #[test]
    fn only_a_single_task_without_a_limit_on_its_run_needs_no_plan() {
        let lone = Definition::single(noop("main"));
        assert!(lone.only_task().is_some());
        assert!(Definition { timeout_ms: Some(1_000), ..lone.clone() }.only_task().is_none());
        assert!(Definition::of(vec![noop("a"), noop("b")]).only_task().is_none());
    }
}
