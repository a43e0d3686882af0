//! One workflow as text, for an editor: a single entry of `workflows:` in a module's file.
//!
//! The text is read within the limits of a module's file, and checked like a workflow that is being
//! saved. So an editor can show problems while the user types.

use entity::workflow;
use uuid::Uuid;

use super::file::{TextError, WorkflowText};
use crate::{
    access::{Editor, Permit},
    commands::{
        BadInput, CommandError, Commands, NewWorkflow, secrets::KEPT_REDIRECTS,
        workflows::DefinitionPlace,
    },
    model::{Definition, check, naming},
    store::workflows,
    target::{SecretText, Target},
};

/// Maximum number of problems that are listed.
const MAX_PROBLEMS: usize = 20;

/// The text of a workflow.
#[derive(Clone, Copy, Debug)]
pub struct WorkflowSource<'a> {
    /// The namespace, by name.
    pub namespace: &'a str,
    /// YAML, or JSON, which is a subset of it.
    pub text: &'a str,
    /// The workflow being edited, if any: masks keep its secrets.
    pub workflow_id: Option<Uuid>,
}

/// The result of reading a text.
#[derive(Clone, Debug)]
pub struct WorkflowReading {
    /// The workflow, as it would be created; `None` if the text cannot be read.
    pub workflow: Option<NewWorkflow>,
    /// The problems for which saving would be refused, at most 20.
    pub problems: Vec<TextProblem>,
}

/// A problem of a text, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextProblem {
    /// The line, counted from 1; `None` if the problem is not in a single line.
    pub line: Option<u64>,
    /// The column, counted from 1, in characters.
    pub column: Option<u64>,
    /// The path in the workflow, in the keys of the text; empty if the text cannot be read.
    pub field: String,
    /// The value; empty if there is none, or if it must not be repeated.
    pub value: String,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub help: String,
}

/// The workflow that is being edited.
struct Edited {
    row: workflow::Model,
    definition: Definition,
}

impl Commands {
    /// Reads a workflow's text and checks it. Nothing is stored.
    pub async fn read_workflow(
        &self,
        right: &Editor,
        source: WorkflowSource<'_>,
    ) -> Result<WorkflowReading, CommandError> {
        let (read, permit) = (self.store.read(), right.permit());
        let named = self.namespace(read, permit, source.namespace).await?;
        let edited = match source.workflow_id {
            Some(id) => Some(self.edited_workflow(permit, id).await?),
            None => None,
        };
        let text = match WorkflowText::read(source.text) {
            Ok(text) => text,
            Err(misread) => {
                return Ok(WorkflowReading { workflow: None, problems: vec![misread.into()] });
            }
        };
        if let Some(bad) = edited.as_ref().and_then(|edited| other_name(edited, &text.name)) {
            let problems = vec![TextProblem::at(&text, bad)];
            return Ok(WorkflowReading { workflow: None, problems });
        }
        let mut checked = complete(text.definition.clone());
        let mut problems: Vec<_> = check::name("name", &text.name).err().into_iter().collect();
        let old = edited.as_ref().map(|edited| &edited.definition);
        problems.extend(self.problems_of(&mut checked, old, MAX_PROBLEMS - problems.len()));
        if problems.is_empty() {
            let namespace = edited.as_ref().map_or(named, |edited| edited.row.namespace_id);
            let at = DefinitionPlace::Workflow("");
            match self.check_namespace(read, namespace, at, &checked).await {
                Ok(()) => {}
                Err(CommandError::BadInput(bad)) => problems.push(bad),
                Err(error) => return Err(error),
            }
        }
        let problems = problems.into_iter().map(|bad| TextProblem::at(&text, bad)).collect();
        let WorkflowText { name, definition, .. } = text;
        let namespace = source.namespace.to_owned();
        let workflow = Some(NewWorkflow { namespace, name, definition });
        Ok(WorkflowReading { workflow, problems })
    }

    async fn edited_workflow(&self, permit: Permit<'_>, id: Uuid) -> Result<Edited, CommandError> {
        let read = self.store.read();
        let row = workflows::by_ids(read, &[id]).await?.pop();
        let row = row.filter(|row| row.deleted_at.is_none());
        let row = row.ok_or_else(|| CommandError::not_found("workflow", id))?;
        permit.over(row.namespace_id, "workflow", id)?;
        let definition = self.definition_of(read, &row).await?;
        Ok(Edited { row, definition })
    }
}

fn other_name(edited: &Edited, name: &str) -> Option<BadInput> {
    let own = &edited.row.name;
    (own != name).then(|| {
        let help = format!("write {own}: a workflow keeps its name");
        BadInput::new("name", name, "is not the name of the workflow being edited", help)
    })
}

/// Completes a definition from a text. A text is complete, unlike a form: fields that it leaves out
/// get defaults, not the values of the edited workflow.
fn complete(mut definition: Definition) -> Definition {
    for task in &mut definition.tasks {
        if let Target::Http(http) = &mut task.target {
            http.signing_secret.get_or_insert_with(|| SecretText::new(""));
            http.client_certificate.get_or_insert_with(|| SecretText::new(""));
            http.expected_body.get_or_insert_default();
            // The marker for "keep" is not a valid number of redirects.
            http.max_redirects = http.max_redirects.min(KEPT_REDIRECTS - 1);
        }
    }
    definition
}

impl TextProblem {
    fn at(text: &WorkflowText<'_>, bad: BadInput) -> Self {
        let place = text.place_of(&bad.field);
        Self {
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            field: naming::in_module(&bad.field),
            value: bad.value,
            problem: bad.problem,
            help: bad.help,
        }
    }
}

impl From<TextError> for TextProblem {
    fn from(misread: TextError) -> Self {
        Self {
            line: misread.place.map(|place| place.line),
            column: misread.place.map(|place| place.column),
            field: String::new(),
            value: String::new(),
            problem: misread.problem,
            help: misread.help.to_owned(),
        }
    }
}
