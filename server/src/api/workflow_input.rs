//! Workflows as a form sends them.

use async_graphql::{InputObject, MaybeUndefined};
use uuid::Uuid;

use super::task_input::{TaskInput, milliseconds};
use crate::{
    commands::{BadInput, NewWorkflow, Revision},
    model::{Definition, Task},
};

/// A workflow to create.
#[derive(InputObject)]
pub(crate) struct CreateWorkflowInput {
    #[graphql(default = "default")]
    namespace: String,
    name: String,
    /// 1 to 100.
    tasks: Vec<TaskInput>,
    /// The time limit of the whole run, in seconds; if absent, only the limits of its tasks apply.
    timeout_seconds: Option<f64>,
    /// How many tasks of one run may be at work at once, 1 to 100.
    #[graphql(default = 8)]
    max_parallel: i64,
    /// The tags that a node must have to take a run, such as `gpu`; any node may if empty.
    #[graphql(default)]
    runs_on: Vec<String>,
}

/// Absent fields keep their current values.
#[derive(InputObject)]
pub(crate) struct UpdateWorkflowInput {
    id: Uuid,
    /// The version that the change is based on; fails with CONFLICT if the database has a newer
    /// one.
    expected_version: i32,
    /// All tasks; the mask `***` keeps a secret of the task with the same name.
    tasks: Option<Vec<TaskInput>>,
    /// Null removes it.
    timeout_seconds: MaybeUndefined<f64>,
    max_parallel: Option<i64>,
    /// An empty list lets any node take runs.
    runs_on: Option<Vec<String>>,
}

impl TryFrom<CreateWorkflowInput> for NewWorkflow {
    type Error = BadInput;

    fn try_from(input: CreateWorkflowInput) -> Result<Self, BadInput> {
        let definition = Definition {
            timeout_ms: input.timeout_seconds.map(limit).transpose()?,
            max_parallel: input.max_parallel,
            runs_on: input.runs_on,
            ..Definition::of(tasks(input.tasks)?)
        };
        Ok(Self { namespace: input.namespace, name: input.name, definition })
    }
}

impl TryFrom<UpdateWorkflowInput> for Revision {
    type Error = BadInput;

    fn try_from(input: UpdateWorkflowInput) -> Result<Self, BadInput> {
        let tasks = input.tasks.map(tasks).transpose()?;
        let timeout = match input.timeout_seconds {
            MaybeUndefined::Undefined => None,
            MaybeUndefined::Null => Some(None),
            MaybeUndefined::Value(seconds) => Some(Some(limit(seconds)?)),
        };
        let (max_parallel, runs_on) = (input.max_parallel, input.runs_on);
        let apply = move |definition: &mut Definition| {
            if let Some(tasks) = tasks {
                definition.tasks = tasks;
            }
            if let Some(timeout) = timeout {
                definition.timeout_ms = timeout;
            }
            if let Some(max_parallel) = max_parallel {
                definition.max_parallel = max_parallel;
            }
            if let Some(runs_on) = runs_on {
                definition.runs_on = runs_on;
            }
        };
        let (id, expected_version) = (input.id, input.expected_version);
        Ok(Self { id, expected_version, apply: Box::new(apply) })
    }
}

fn limit(seconds: f64) -> Result<i64, BadInput> {
    milliseconds("timeoutSeconds", seconds)
}

fn tasks(inputs: Vec<TaskInput>) -> Result<Vec<Task>, BadInput> {
    let task = |(index, input)| {
        let place = format!("tasks[{index}]");
        let read = Task::try_from(input);
        read.map_err(|bad: BadInput| BadInput {
            field: bad.field.replacen("task", &place, 1),
            ..bad
        })
    };
    inputs.into_iter().enumerate().map(task).collect()
}
