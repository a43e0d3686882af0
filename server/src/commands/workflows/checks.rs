//! The requirements for a definition to be stored.

use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::{DefinitionPlace, bad_definition, judgement::DefinitionRefusal};
use crate::{
    commands::{BadInput, CommandError, Commands, secrets},
    model::{Definition, Task, check},
    store::namespaces,
    target::{Executor, Target, TemplateScope},
};

impl Commands {
    /// The problems for which a workflow would be refused, up to `most`: a problem of the
    /// workflow as a whole, or else the first problem of each task. Masked secrets are restored
    /// from `old`.
    pub(in crate::commands) fn problems_of(
        &self,
        definition: &mut Definition,
        old: Option<&Definition>,
        most: usize,
    ) -> Vec<BadInput> {
        let at = DefinitionPlace::Workflow("");
        let sound = definition.validate().and_then(|()| definition.tasks_before().map(drop));
        if let Err(problem) = sound {
            return vec![bad_definition(at, problem)];
        }
        let alone = definition.tasks.len() == 1;
        let restore = |task: &mut Task| retain(task, alone, old);
        let refusals = refusals(&self.executor, definition, most, restore);
        refusals.into_iter().map(|refusal| refusal.at(at)).collect()
    }

    /// Checks that the definition's targets are allowed for tasks of the namespace.
    pub(in crate::commands) async fn check_namespace<C: ConnectionTrait>(
        &self,
        connection: &C,
        namespace: Uuid,
        at: DefinitionPlace<'_>,
        definition: &Definition,
    ) -> Result<(), CommandError> {
        let depends = |task: &Task| self.executor.depends_on_namespace(&task.target);
        if !definition.tasks.iter().any(depends) {
            return Ok(());
        }
        // If the namespace is gone, the following code reports that.
        let found = namespaces::by_ids(connection, &[namespace]).await?;
        let Some(namespace) = found.first() else { return Ok(()) };
        for (index, task) in definition.tasks.iter().enumerate() {
            let checked = self.executor.check_namespace(&task.target, &namespace.name);
            checked.map_err(|error| BadInput::target(&at.task(index), error))?;
        }
        Ok(())
    }
}

/// The reasons why a definition of a valid shape is refused, up to `most`: the first problem of
/// each task, or else one of its texts. `restore` restores the masked secrets of a task, if that
/// has not been done yet. This parses each template, so it may take a while.
pub(super) fn refusals(
    executor: &Executor,
    definition: &mut Definition,
    most: usize,
    restore: impl Fn(&mut Task) -> Result<(), BadInput>,
) -> Vec<DefinitionRefusal> {
    // A cycle of tasks is refused before this is called.
    let before = definition.tasks_before().unwrap_or_default();
    let mut refusals = Vec::new();
    for (index, (task, before)) in definition.tasks.iter_mut().zip(&before).enumerate() {
        if refusals.len() == most {
            return refusals;
        }
        let checked = restore(task).and_then(|()| check_target(executor, &task.target, before));
        refusals.extend(checked.err().map(|bad| DefinitionRefusal::Task(index, bad)));
    }
    if refusals.is_empty() {
        refusals.extend(check_texts("tasks", definition).err().map(DefinitionRefusal::Text));
    }
    refusals
}

/// Checks that a target can be executed here. The error's field begins with `task`. `before`
/// contains the tasks that have ended when this one starts.
fn check_target(executor: &Executor, target: &Target, before: &[String]) -> Result<(), BadInput> {
    let holds_secrets = || secrets::holds_any(target) || !target.secret_names().is_empty();
    if target.has_open_origin() && holds_secrets() {
        let problem = "lets a template choose the server while the request carries secrets";
        let help = "write scheme and host literally, or remove the secret headers and the \
                    signature";
        return Err(BadInput::new("task.target.http.url", "", problem, help));
    }
    let scope = TemplateScope { before, ..TemplateScope::ALONE };
    let checked = executor.check_in(target, scope);
    checked.map_err(|error| BadInput::target("task", error))?;
    secrets::literal::check("task", target)
}

/// Prefixes the error's field with the task's place in the input.
pub(super) fn in_task(bad: BadInput, task: &str) -> BadInput {
    BadInput { field: bad.field.replacen("task", task, 1), ..bad }
}

/// Restores the masked secrets of a task from the task that it replaces in `old`. `alone` says that
/// it is the only task of its definition.
pub(super) fn retain(
    task: &mut Task,
    alone: bool,
    old: Option<&Definition>,
) -> Result<(), BadInput> {
    let named = old.and_then(|old| old.tasks.iter().find(|other| other.name == task.name));
    // If there is only one task, its name may have changed.
    let only = old.filter(|old| alone && old.tasks.len() == 1);
    let kept = named.or_else(|| only.and_then(|old| old.tasks.first()));
    secrets::retain(&mut task.target, kept.map(|task| &task.target))
}

/// Checks that the database can store the definition.
fn check_texts(field: &str, definition: &Definition) -> Result<(), BadInput> {
    // Serialization of a definition cannot fail.
    let json = serde_json::to_value(definition).unwrap_or_default();
    if check::has_nul(&json) {
        let problem = "has a text with a NUL character (\\u0000)";
        return Err(BadInput::new(field, "", problem, "remove it"));
    }
    check::nests(field, &json.to_string())
}
