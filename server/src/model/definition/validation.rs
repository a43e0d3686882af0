//! The limits of a definition.

use std::time::Duration;

use super::{Definition, Graph, Task, When};
use crate::config::{MAX_TAGS, Tags};

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
    pub(super) fn new(
        field: impl Into<String>,
        value: impl ToString,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let value = value.to_string();
        Self { field: field.into(), value, problem: problem.into(), help: help.into() }
    }
}

pub(super) const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Maximum number of tasks of a workflow.
const MAX_TASKS: usize = 100;
/// Maximum number of tasks that one task waits for.
const MAX_NEEDS: usize = 20;
/// Maximum number of conditions of one task.
const MAX_CONDITIONS: usize = 32;

impl Definition {
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

impl Task {
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
    use timetable::retry;

    use super::*;
    use crate::target::{Http, Noop, Target};

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
}
