//! Workflows as a form sends them, and as they are handed to a form.

use async_graphql::{InputObject, InputType, MaybeUndefined};
use serde_json::Value;
use uuid::Uuid;

use super::{
    task_input::{TaskInput, milliseconds},
    workflow::seconds,
};
use crate::{
    commands::{BadInput, NewWorkflow, WorkflowEdit},
    model::{Definition, Task},
};

/// A workflow to create.
#[derive(InputObject)]
pub(crate) struct CreateWorkflowInput {
    /// The namespace's name.
    #[graphql(default = "default")]
    namespace: String,
    /// Unique in the namespace: 1 to 128 of A-Z a-z 0-9 . _ / -
    name: String,
    /// The tasks, 1 to 100.
    tasks: Vec<TaskInput>,
    /// The time limit of the whole run, in seconds; if absent, only the limits of the workflow's
    /// tasks apply.
    timeout_seconds: Option<f64>,
    /// Maximum number of tasks of one run in progress at once, 1 to 100.
    #[graphql(default = 8)]
    max_parallel: i64,
    /// The tags that a node must have to take a run, such as `gpu`; if empty, any node may take it.
    #[graphql(default)]
    runs_on: Vec<String>,
}

/// Absent fields keep their current values.
#[derive(InputObject)]
pub(crate) struct UpdateWorkflowInput {
    /// The workflow's id.
    id: Uuid,
    /// The version that the change is based on; fails with CONFLICT if the database has a newer
    /// one.
    expected_version: i32,
    /// All tasks; the mask `***` keeps a secret of the task with the same name.
    tasks: Option<Vec<TaskInput>>,
    /// Null removes the limit.
    timeout_seconds: MaybeUndefined<f64>,
    /// Maximum number of tasks of one run in progress at once, 1 to 100.
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

impl TryFrom<UpdateWorkflowInput> for WorkflowEdit {
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

/// The fields of [`CreateWorkflowInput`] without the namespace. Secrets are in it as they are: only
/// for those who have just sent them themselves.
pub(super) fn as_input(new: NewWorkflow) -> Value {
    let NewWorkflow { namespace, name, definition } = new;
    let input = CreateWorkflowInput {
        namespace,
        name,
        tasks: definition.tasks.into_iter().map(TaskInput::from).collect(),
        timeout_seconds: definition.timeout_ms.map(seconds),
        max_parallel: definition.max_parallel,
        runs_on: definition.runs_on,
    };
    // Every value of an input is JSON.
    let mut json = input.to_value().into_json().unwrap_or_default();
    if let Some(fields) = json.as_object_mut() {
        fields.remove("namespace");
    }
    without_nulls(json)
}

/// The fields of an input that hold JSON of the user's own.
const OWN: [&str; 3] = ["json", "input", "payload"];

/// The user's own JSON, which `InputType::to_value` gives as a text.
fn own(value: Value) -> Value {
    match value.as_str().map(serde_json::from_str) {
        Some(Ok(json)) => json,
        Some(Err(_)) | None => value,
    }
}

/// An input without its absent fields.
fn without_nulls(input: Value) -> Value {
    match input {
        Value::Object(fields) => {
            let given = fields.into_iter().filter(|(_, value)| !value.is_null());
            let given = given.map(|(key, value)| {
                let is_own = OWN.contains(&key.as_str());
                (key, if is_own { own(value) } else { without_nulls(value) })
            });
            given.collect()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => value,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::definition::arbitrary::any_definition;

    proptest! {
        #[test]
        fn what_a_form_is_handed_is_what_it_may_send_back(definition in any_definition()) {
            let new = NewWorkflow {
                namespace: "default".to_owned(),
                name: "some".to_owned(),
                definition: definition.clone(),
            };
            let json = as_input(new);
            let told = json.to_string();
            let value = async_graphql::Value::from_json(json).unwrap();
            let sent = <CreateWorkflowInput as InputType>::parse(Some(value)).ok().unwrap();
            let sent = NewWorkflow::try_from(sent).unwrap();
            prop_assert_eq!((&*sent.namespace, &*sent.name), ("default", "some"));
            prop_assert_eq!(sent.definition, definition, "{}", told);
        }
    }

    #[test]
    fn only_absent_fields_are_left_out() {
        let input = serde_json::json!({
            "a": null, "b": [{ "c": null, "d": 1 }], "payload": { "e": null }, "input": [null],
        });
        let wanted = serde_json::json!({
            "b": [{ "d": 1 }], "payload": { "e": null }, "input": [null],
        });
        assert_eq!(without_nulls(input), wanted);
    }
}
