//! The definition of a workflow's version: its tasks, their dependencies, and how each is carried
//! out.
//!
//! - `graph`: which task waits for which; detects cycles, with their path
//! - `condition`: which failures are worth another attempt
//! - `known`: a cache of the definitions that a node has read
//! - `arbitrary`: any definition, for property tests

#[cfg(test)]
pub(crate) mod arbitrary;
mod condition;
mod error;
mod graph;
mod known;

use std::time::Duration;

use entity::Strings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timetable::retry;

pub use condition::Condition;
pub use error::DefinitionError;
pub(crate) use graph::Graph;
pub(crate) use known::{CompiledDefinition, Definitions};

use crate::{
    config::{MAX_TAGS, Tags},
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

/// A definition that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: '{value}' {problem}; {help}")]
pub struct DefinitionProblem {
    /// The field, from the definition down.
    pub field: String,
    /// The value, as given.
    pub value: String,
    /// What is wrong with the value.
    pub problem: String,
    /// What to do about the problem.
    pub help: String,
}

impl DefinitionProblem {
    fn new(
        field: impl Into<String>,
        value: impl ToString,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let value = value.to_string();
        Self { field: field.into(), value, problem: problem.into(), help: help.into() }
    }
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Maximum number of tasks of a workflow.
const MAX_TASKS: usize = 100;
/// Maximum number of tasks that one task waits for.
const MAX_NEEDS: usize = 20;
/// Maximum number of conditions of one task.
const MAX_CONDITIONS: usize = 32;

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

    /// Checks all limits except those of the targets, which the executor knows.
    pub fn validate(&self) -> Result<(), DefinitionProblem> {
        let count = self.tasks.len();
        if !(1..=MAX_TASKS).contains(&count) {
            let help = format!("give 1 to {MAX_TASKS}");
            return Err(DefinitionProblem::new("tasks", count, "is not a number of tasks", help));
        }
        if let Some(timeout) = self.timeout_ms {
            lasts("timeout_seconds", timeout, 1, 30 * DAY_MS)?;
        }
        within("max_parallel", self.max_parallel, 1, 100)?;
        if self.runs_on.len() > MAX_TAGS {
            let help = format!("give at most {MAX_TAGS}");
            return Err(DefinitionProblem::new(
                "runs_on",
                self.runs_on.len(),
                "are too many tags",
                help,
            ));
        }
        if let Some(tag) = self.runs_on.iter().find(|tag| !Tags::is_tag(tag)) {
            let shown: String = tag.chars().take(64).collect();
            return Err(DefinitionProblem::new(
                "runs_on",
                shown,
                "is not a valid node tag",
                Tags::HELP,
            ));
        }
        for (index, task) in self.tasks.iter().enumerate() {
            task.validate(&format!("tasks[{index}]"))?;
        }
        Graph::of(&self.tasks).map(drop)
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

    fn validate(&self, at: &str) -> Result<(), DefinitionProblem> {
        let name_is_fine = (1..=64).contains(&self.name.len())
            && self.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if !name_is_fine {
            let shown: String = self.name.chars().take(64).collect();
            let help = "use 1 to 64 letters, digits, '.', '_' or '-'";
            return Err(DefinitionProblem::new(
                format!("{at}.name"),
                shown,
                "is not a task's name",
                help,
            ));
        }
        let policy = &self.retry;
        lasts(&format!("{at}.timeout_seconds"), self.timeout_ms, 1, 7 * DAY_MS)?;
        lasts(&format!("{at}.kill_grace_seconds"), self.kill_grace_ms, 0, DAY_MS / 24)?;
        within(&format!("{at}.retry.max_attempts"), policy.max_attempts.into(), 1, 100)?;
        lasts(&format!("{at}.retry.initial_seconds"), policy.initial_ms, 0, DAY_MS)?;
        lasts(&format!("{at}.retry.max_seconds"), policy.max_ms, policy.initial_ms, DAY_MS)?;
        if !(0.0..=1.0).contains(&policy.jitter) {
            let field = format!("{at}.retry.jitter");
            let help = "give a number from 0 to 1";
            return Err(DefinitionProblem::new(field, policy.jitter, "is not a share", help));
        }
        if self.needs.len() > MAX_NEEDS {
            let (field, count) = (format!("{at}.needs"), self.needs.len());
            let help = format!("give at most {MAX_NEEDS}; a task between them joins the rest");
            return Err(DefinitionProblem::new(field, count, "are too many needs", help));
        }
        if self.when == When::Failure && self.needs.is_empty() {
            let help = "say in 'needs' which tasks it depends on";
            let problem = "can never be met, because the task needs no other task";
            return Err(DefinitionProblem::new(format!("{at}.when"), "failure", problem, help));
        }
        self.validate_conditions(at)
    }

    fn validate_conditions(&self, at: &str) -> Result<(), DefinitionProblem> {
        let field = format!("{at}.retry_on");
        let count = self.retry_on.len();
        if count > MAX_CONDITIONS {
            let help = format!("give at most {MAX_CONDITIONS}; ranges cover many");
            return Err(DefinitionProblem::new(field, count, "are too many conditions", help));
        }
        if count > 0 && self.retry.max_attempts == 1 {
            let help = "allow 2 to 100 attempts, or give no condition";
            let problem = "has no effect, because there is only one attempt";
            return Err(DefinitionProblem::new(field, &self.retry_on[0], problem, help));
        }
        for (index, condition) in self.retry_on.iter().enumerate() {
            if let Some(kind) = condition.needs_target().filter(|kind| *kind != self.target.kind())
            {
                let problem =
                    format!("can never occur, because the target is '{}'", self.target.kind());
                let help =
                    format!("only '{kind}' targets end in this way; use 'failure' or 'error'");
                return Err(DefinitionProblem::new(
                    format!("{field}[{index}]"),
                    condition,
                    problem,
                    help,
                ));
            }
        }
        Ok(())
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

fn within(field: &str, value: i64, low: i64, high: i64) -> Result<(), DefinitionProblem> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(DefinitionProblem::new(field, value, "is out of range", format!("give {low} to {high}")))
}

/// Checks that a duration is within bounds. Users give it in seconds, or in a format that is read
/// as seconds.
fn lasts(field: &str, ms: i64, low: i64, high: i64) -> Result<(), DefinitionProblem> {
    if (low..=high).contains(&ms) {
        return Ok(());
    }
    let seconds = |ms: i64| Duration::from_millis(ms.unsigned_abs()).as_secs_f64();
    let help = format!("give {} to {} seconds", seconds(low), seconds(high));
    Err(DefinitionProblem::new(field, seconds(ms), "is out of range", help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Http, Noop};

    fn noop(name: impl Into<String>) -> Task {
        Task::new(name, Target::Noop(Noop::default()))
    }

    #[test]
    fn ten_thousand_tasks_are_refused_with_the_limit() {
        let tasks = (0..10_000).map(|index| noop(format!("t{index}"))).collect();
        let problem = Definition::of(tasks).validate().unwrap_err();
        assert_eq!(problem.to_string(), "tasks: '10000' is not a number of tasks; give 1 to 100");
        assert!(Definition::of(vec![]).validate().is_err());
        let tasks = (0..100).map(|index| noop(format!("t{index}"))).collect();
        assert_eq!(Definition::of(tasks).validate(), Ok(()));
    }

    #[test]
    fn each_value_out_of_range_is_named_with_its_limits() {
        let http = || Task::new("a", Target::Http(Http::post("https://example.org")));
        let tried =
            |task: Task| Task { retry: retry::Policy { max_attempts: 2, ..task.retry }, ..task };
        let conditions = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let one = Definition::single;
        let many: Vec<String> = (0..21).map(|index| format!("n{index}")).collect();
        for (definition, field) in [
            (Definition { timeout_ms: Some(0), ..one(noop("a")) }, "timeout_seconds"),
            (Definition { timeout_ms: Some(31 * DAY_MS), ..one(noop("a")) }, "timeout_seconds"),
            (Definition { max_parallel: 0, ..one(noop("a")) }, "max_parallel"),
            (Definition { max_parallel: 101, ..one(noop("a")) }, "max_parallel"),
            (Definition { runs_on: vec!["a b".to_owned()], ..one(noop("a")) }, "runs_on"),
            (Definition { runs_on: vec!["a".to_owned(); 33], ..one(noop("a")) }, "runs_on"),
            (one(noop("a b")), "tasks[0].name"),
            (one(Task { timeout_ms: 0, ..noop("a") }), "tasks[0].timeout_seconds"),
            (one(Task { needs: many, ..noop("a") }), "tasks[0].needs"),
            (one(Task { when: When::Failure, ..noop("a") }), "tasks[0].when"),
            (one(Task { retry_on: conditions(&["timeout"]), ..noop("a") }), "tasks[0].retry_on"),
            (
                one(tried(Task { retry_on: conditions(&["timeout", "exit 1"]), ..http() })),
                "tasks[0].retry_on[1]",
            ),
            (
                one(tried(Task { retry_on: conditions(&["status 503"]), ..noop("a") })),
                "tasks[0].retry_on[0]",
            ),
        ] {
            assert_eq!(definition.validate().unwrap_err().field, field);
        }
        let fine = tried(Task { retry_on: conditions(&["timeout", "status 500-599"]), ..http() });
        assert_eq!(one(fine).validate(), Ok(()));
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
