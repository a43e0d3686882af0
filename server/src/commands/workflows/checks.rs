//! What a definition must meet to be stored.

use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::{At, bad_definition, json_of};
use crate::{
    commands::{BadInput, CommandError, Commands, secrets},
    model::{Definition, Task, check},
    store::namespaces,
    target::TemplateScope,
};

impl Commands {
    /// Restores masked secrets, and checks that the definition can be run here.
    pub(in crate::commands) fn check_definition(
        &self,
        at: At<'_>,
        definition: &mut Definition,
        old: Option<&Definition>,
    ) -> Result<(), CommandError> {
        // The shape is validated first: it limits how many tasks are looked at.
        definition.validate().map_err(|problem| bad_definition(at, problem))?;
        let before = definition.tasks_before().map_err(|problem| bad_definition(at, problem))?;
        let alone = definition.tasks.len() == 1;
        for (index, (task, before)) in definition.tasks.iter_mut().zip(&before).enumerate() {
            let kept = predecessor(&task.name, alone, old);
            self.check_task(&at.task(index), task, before, kept)?;
        }
        check_texts(at, definition)
    }

    /// What [`check_definition`](Self::check_definition) refuses of a workflow: what is wrong with
    /// it as a whole, or else the first problem of each task; at most `most`.
    pub(in crate::commands) fn problems_of(
        &self,
        definition: &mut Definition,
        old: Option<&Definition>,
        most: usize,
    ) -> Result<Vec<BadInput>, CommandError> {
        let at = At::Workflow("");
        let before = match definition.validate().and_then(|()| definition.tasks_before()) {
            Ok(before) => before,
            Err(problem) => return Ok(vec![bad_definition(at, problem)]),
        };
        let mut problems = Vec::new();
        let alone = definition.tasks.len() == 1;
        for (index, (task, before)) in definition.tasks.iter_mut().zip(&before).enumerate() {
            if problems.len() == most {
                return Ok(problems);
            }
            let kept = predecessor(&task.name, alone, old);
            let checked = self.check_task(&at.task(index), task, before, kept);
            problems.extend(refused(checked)?);
        }
        if problems.is_empty() {
            problems.extend(refused(check_texts(at, definition))?);
        }
        Ok(problems)
    }

    /// Restores the masked secrets of a task, and checks that its target can be executed here.
    /// `before` are the tasks that have ended when it starts.
    fn check_task(
        &self,
        field: &str,
        task: &mut Task,
        before: &[String],
        kept: Option<&Task>,
    ) -> Result<(), CommandError> {
        let retained = secrets::retain(&mut task.target, kept.map(|task| &task.target));
        retained.map_err(|bad| BadInput { field: bad.field.replacen("task", field, 1), ..bad })?;
        let holds_secrets =
            secrets::holds_any(&task.target) || !task.target.secret_names().is_empty();
        if task.target.has_open_origin() && holds_secrets {
            let problem = "lets a template choose the server while the request carries secrets";
            let help = "write scheme and host out, or take the secret headers and signature away";
            return Err(BadInput::new(format!("{field}.target.http.url"), "", problem, help).into());
        }
        let scope = TemplateScope { before, ..TemplateScope::ALONE };
        let checked = self.executor.check_in(&task.target, scope);
        checked.map_err(|error| BadInput::target(field, error))?;
        Ok(secrets::literal::check(field, &task.target)?)
    }

    /// Checks that the definition's targets are allowed for tasks of the namespace.
    pub(in crate::commands) async fn check_namespace<C: ConnectionTrait>(
        &self,
        connection: &C,
        namespace: Uuid,
        at: At<'_>,
        definition: &Definition,
    ) -> Result<(), CommandError> {
        let depends = |task: &Task| self.executor.depends_on_namespace(&task.target);
        if !definition.tasks.iter().any(depends) {
            return Ok(());
        }
        // If it is gone, the following code reports it.
        let found = namespaces::by_ids(connection, &[namespace]).await?;
        let Some(namespace) = found.first() else { return Ok(()) };
        for (index, task) in definition.tasks.iter().enumerate() {
            let checked = self.executor.check_namespace(&task.target, &namespace.name);
            checked.map_err(|error| BadInput::target(&at.task(index), error))?;
        }
        Ok(())
    }
}

/// The value that a check refused, if it refused one.
pub(in crate::commands) fn refused(
    checked: Result<(), CommandError>,
) -> Result<Option<BadInput>, CommandError> {
    match checked {
        Ok(()) => Ok(None),
        Err(CommandError::BadInput(bad)) => Ok(Some(bad)),
        Err(error) => Err(error),
    }
}

/// The task of an earlier definition whose secrets a task of this name may keep.
fn predecessor<'a>(name: &str, alone: bool, old: Option<&'a Definition>) -> Option<&'a Task> {
    let old = old?;
    let named = old.tasks.iter().find(|task| task.name == name);
    // A single task may have been renamed.
    named.or_else(|| old.tasks.first().filter(|_| alone && old.tasks.len() == 1))
}

/// Checks the definition as a whole: the database must be able to store it.
fn check_texts(at: At<'_>, definition: &Definition) -> Result<(), CommandError> {
    let json = json_of(definition)?;
    if check::has_nul(&json) {
        let problem = "has a text with a NUL character (\\u0000)";
        return Err(BadInput::new(at.field(), "", problem, "remove it").into());
    }
    Ok(check::nests(at.field(), &json.to_string())?)
}
