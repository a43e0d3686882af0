//! Workflows as text: read for an editor, and checked as saving them would.

use async_graphql::{Context, Object, SimpleObject};
use serde_json::Value;
use uuid::Uuid;

use super::{context::ContextExt, error::Result, page::DECLARED, workflow_input::as_input};
use crate::commands::{self, WorkflowSource, modules::file::MAX_BYTES};

/// Workflows as text.
#[derive(Default)]
pub(super) struct ReadingTexts;

/// Workflows as text.
#[Object]
impl ReadingTexts {
    /// Reads a workflow as it stands under `workflows:` of a module's file, and checks it as saving
    /// it would. A text that cannot be read is not an error: see `problems`. For editors.
    #[graphql(complexity = "reading_cost(&text) + child_complexity")]
    async fn read_workflow(
        &self,
        cx: &Context<'_>,
        #[graphql(default = "default", desc = "The namespace's name.")] namespace: String,
        #[graphql(desc = "YAML, or JSON, which is a subset of it; at most 1 MiB.")] text: String,
        #[graphql(
            desc = "The workflow being edited, if any: the mask `***` keeps its secrets, and it \
                    keeps its name."
        )]
        workflow_id: Option<Uuid>,
    ) -> Result<WorkflowReading> {
        let right = cx.editor()?;
        let source = WorkflowSource { namespace: &namespace, text: &text, workflow_id };
        Ok(cx.commands().read_workflow(&right, source).await?.into())
    }
}

/// The cost of reading a text: of its parser, and of checking its templates.
fn reading_cost(text: &str) -> usize {
    500 + text.len().min(MAX_BYTES) / 32
}

/// A workflow that was read from a text.
#[derive(SimpleObject)]
pub(super) struct WorkflowReading {
    /// The fields of `CreateWorkflowInput` without the namespace; null if the text cannot be read.
    definition: Option<Value>,
    /// The problems for which saving the workflow would be refused; at most 20.
    #[graphql(complexity = "DECLARED * child_complexity")]
    problems: Vec<TextProblem>,
}

/// What is wrong with a text, and where.
#[derive(SimpleObject)]
pub(super) struct TextProblem {
    /// The line of the problem, from 1; null if the problem is not in a single line.
    line: Option<u64>,
    /// The column of the problem in characters, from 1.
    column: Option<u64>,
    /// The path in the workflow, in the keys of the text; empty if the text cannot be read.
    field: String,
    /// The wrong value; empty if there is none or it must not be shown.
    value: String,
    /// What is wrong: words that follow the value.
    problem: String,
    /// What to do about it.
    help: String,
}

impl From<commands::WorkflowReading> for WorkflowReading {
    fn from(reading: commands::WorkflowReading) -> Self {
        Self {
            definition: reading.workflow.map(as_input),
            problems: reading.problems.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<commands::TextProblem> for TextProblem {
    fn from(found: commands::TextProblem) -> Self {
        let commands::TextProblem { line, column, field, value, problem, help } = found;
        Self { line, column, field, value, problem, help }
    }
}
