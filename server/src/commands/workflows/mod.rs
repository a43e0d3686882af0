//! Workflows, as created for schedules and modules.
//!
//! A definition is never changed: an edit adds a version and points the workflow to it, so a run
//! keeps the version that it started with.
//!
//! - `checks`: the requirements for a definition to be stored
//! - `judgement`: checking definitions before a transaction begins
//! - `standalone`: creating, changing and deleting standalone workflows

pub(super) mod checks;
mod judgement;
pub(super) mod standalone;

use entity::{Timestamp, audit_event, schedule, workflow, workflow_version};
use sea_orm::{ConnectionTrait, Set};
use serde_json::{Value, json};
use uuid::Uuid;

pub(super) use self::judgement::{Judgement, changed_meanwhile, forms_of};
use super::{
    BadInput, CommandError, Commands, UnsetSecret,
    error::{schedule_name_taken, workflow_missing},
    secrets::{self, unset::UsedSecrets},
    stored,
};
use crate::{
    access::Viewer,
    model::{Definition, DefinitionProblem, Task, check, naming},
    random::new_id,
    store::{Constraint, DatabaseTransaction, StoreError, audit, schedules, workflows},
};

/// The work of a schedule: a workflow or a task.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleWork {
    /// An existing workflow, by name.
    Workflow(String),
    /// An inline task: a workflow with the schedule's name.
    Task(Box<Task>),
    /// The workflow that the schedule ran in the past, by name. If it is the schedule's own, the
    /// given version is restored.
    Past {
        /// The workflow.
        name: String,
        /// The version at that time.
        version: i32,
    },
}

/// A workflow after a command, for the schedule's history.
#[derive(Clone, Debug)]
pub(super) struct ResolvedWorkflow {
    pub(super) id: Uuid,
    pub(super) name: String,
    pub(super) version: i32,
    /// A description of the workflow's change, if there was one.
    pub(super) change: Option<String>,
    /// Secrets that the workflow uses but that are not set, if the command came with a definition.
    pub(super) unset: Vec<UnsetSecret>,
}

impl ResolvedWorkflow {
    /// An existing workflow that the command does not change.
    pub(super) fn as_it_is(id: Uuid, name: String, version: i32) -> Self {
        Self { id, name, version, change: None, unset: vec![] }
    }
}

/// The rows of a new workflow, with its history.
#[derive(Debug)]
pub(super) struct WorkflowRows {
    pub(super) workflow: workflow::ActiveModel,
    pub(super) version: workflow_version::ActiveModel,
    pub(super) entry: audit_event::ActiveModel,
}

impl Commands {
    /// The workflow for a schedule named `schedule`; `current` is the schedule's row if it already
    /// exists. `judgement` is that of the task or of the past definition.
    pub(super) async fn resolve(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        schedule: &str,
        current: Option<&schedule::Model>,
        work: ScheduleWork,
        judgement: &Judgement,
    ) -> Result<ResolvedWorkflow, CommandError> {
        let task = match work {
            ScheduleWork::Workflow(name) => {
                let found = workflows::by_name(tx, namespace, &name).await?;
                let found = found.ok_or_else(|| workflow_missing(&name))?;
                return Ok(ResolvedWorkflow::as_it_is(found.id, name, found.version));
            }
            ScheduleWork::Past { name, version } => {
                let past = self.resolve_past(tx, who, namespace, current, name, version, judgement);
                return past.await;
            }
            ScheduleWork::Task(task) => task,
        };
        let existing = workflows::by_name(tx, namespace, schedule).await?;
        let mut definition = Definition::single(*task);
        let Some(existing) = existing else {
            let secrets = judgement.pass(DefinitionPlace::Task("task"), &mut definition, None)?;
            self.check_namespace(tx, namespace, DefinitionPlace::Task("task"), &definition).await?;
            let added = self.add_workflow(tx, who, namespace, schedule, &definition, secrets, None);
            return added.await;
        };
        let except = current.map(|row| row.id);
        if existing.module.is_some() || workflows::users(tx, existing.id, except).await? > 0 {
            let named = schedules::by_name(tx, namespace, schedule).await?;
            if named.is_some_and(|row| Some(row.id) != except) {
                return Err(schedule_name_taken(schedule).into());
            }
            let help = "name that workflow instead of giving a task, or choose another name";
            let problem = "has the name of a workflow that other schedules run";
            return Err(BadInput::new("name", schedule, problem, help).into());
        }
        // Masked secrets are restored only from the schedule's own task, not from a workflow that
        // another schedule of this name left behind.
        let own = current.is_some_and(|row| row.workflow_id == existing.id);
        let old = self.definition_of(tx, &existing).await?;
        let secrets =
            judgement.pass(DefinitionPlace::Task("task"), &mut definition, own.then_some(&old))?;
        self.check_namespace(tx, namespace, DefinitionPlace::Task("task"), &definition).await?;
        self.revise_workflow(tx, who, &existing, &old, &definition, secrets).await
    }

    /// Renames a schedule's own workflow together with the schedule. Otherwise the next edit would
    /// not find the task and its secrets.
    pub(super) async fn rename_along(
        &self,
        tx: &DatabaseTransaction,
        row: &schedule::Model,
        current: ResolvedWorkflow,
        name: &str,
    ) -> Result<ResolvedWorkflow, CommandError> {
        if name == row.name || current.name != row.name {
            return Ok(current);
        }
        let found = workflows::by_ids(tx, &[current.id]).await?;
        let is_own = found.iter().any(|workflow| workflow.module.is_none())
            && workflows::users(tx, current.id, Some(row.id)).await? == 0;
        if is_own {
            let renamed = workflows::rename(tx, current.id, name).await;
            renamed.map_err(|error| name_broken(error, name))?;
            return Ok(ResolvedWorkflow { name: name.to_owned(), ..current });
        }
        Ok(current)
    }

    /// The definition that new runs of the workflow start with.
    pub(super) async fn definition_of<C: ConnectionTrait>(
        &self,
        tx: &C,
        row: &workflow::Model,
    ) -> Result<Definition, CommandError> {
        let found = workflows::version(tx, row.id, row.version).await?;
        let json = found.map_or(Value::Null, |version| version.definition);
        stored::read(json, || format!("workflow {} version {}", row.name, row.version))
    }

    /// Creates a workflow.
    pub(super) async fn add_workflow(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        name: &str,
        definition: &Definition,
        secrets: &UsedSecrets,
        module: Option<&str>,
    ) -> Result<ResolvedWorkflow, CommandError> {
        let (mut resolved, rows) =
            self.compose_workflow(who, namespace, name, definition, module)?;
        let WorkflowRows { workflow, version, entry } = rows;
        let rows = (vec![workflow], vec![version], vec![entry]);
        let written = workflows::insert_if_names_free(tx, self.store.dialect(), rows).await?;
        if !written.contains(&resolved.id) {
            return Err(name_taken(name).into());
        }
        resolved.unset = secrets.unset(tx, namespace).await?;
        Ok(resolved)
    }

    /// The rows of a new workflow.
    pub(super) fn compose_workflow(
        &self,
        who: &Viewer,
        namespace: Uuid,
        name: &str,
        definition: &Definition,
        module: Option<&str>,
    ) -> Result<(ResolvedWorkflow, WorkflowRows), CommandError> {
        check::name("name", name)?;
        let now = self.clock.now();
        let (id, now) = (new_id(now), Timestamp::from(now));
        let workflow = workflow::ActiveModel {
            id: Set(id),
            namespace_id: Set(namespace),
            name: Set(name.to_owned()),
            version: Set(1),
            module: Set(module.map(str::to_owned)),
            created_at: Set(now),
            updated_at: Set(now),
            deleted_at: Set(None),
        };
        let version = self.version(who, id, 1, definition)?;
        let entry =
            self.workflow_entry(who, "workflow.create", namespace, id, name, None, definition)?;
        let change = Some(format!("workflow {name} made"));
        let unset = vec![];
        let resolved = ResolvedWorkflow { id, name: name.to_owned(), version: 1, change, unset };
        Ok((resolved, WorkflowRows { workflow, version, entry }))
    }

    /// Deletes a workflow, unless a schedule still runs it.
    pub(super) async fn delete_workflow_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &workflow::Model,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        let old = self.definition_of(tx, row).await?;
        workflows::delete(tx, row.id, self.clock.now().into()).await?;
        let entry = super::audit::AuditEntry {
            action: "workflow.delete",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &row.name,
            reason,
            before: Some(shown(&old)?),
            after: None,
        };
        Ok(self.audit(tx, who, entry).await?)
    }

    /// Gives a workflow a new definition, unless it is the current one.
    pub(super) async fn revise_workflow(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &workflow::Model,
        old: &Definition,
        new: &Definition,
        secrets: &UsedSecrets,
    ) -> Result<ResolvedWorkflow, CommandError> {
        let (id, name) = (row.id, row.name.clone());
        if old == new {
            // Secrets may be unset even if the definition is unchanged, so they are reported each
            // time.
            let unset = secrets.unset(tx, row.namespace_id).await?;
            return Ok(ResolvedWorkflow { id, name, version: row.version, change: None, unset });
        }
        let version = row.version + 1;
        let now = Timestamp::from(self.clock.now());
        workflows::supersede(tx, id, version, now, self.version(who, id, version, new)?).await?;
        let entry = self.workflow_entry(
            who,
            "workflow.update",
            row.namespace_id,
            id,
            &name,
            Some(old),
            new,
        )?;
        audit::insert(tx, entry).await?;
        let change = Some(format!(
            "{} of workflow {name} changed (version {version})",
            what_changed(old, new)
        ));
        let unset = secrets.unset(tx, row.namespace_id).await?;
        Ok(ResolvedWorkflow { id, name, version, change, unset })
    }

    fn version(
        &self,
        who: &Viewer,
        id: Uuid,
        version: i32,
        definition: &Definition,
    ) -> Result<workflow_version::ActiveModel, CommandError> {
        Ok(workflow_version::ActiveModel {
            workflow_id: Set(id),
            version: Set(version),
            definition: Set(json_of(definition)?),
            created_by: Set(who.name.clone()),
            created_at: Set(self.clock.now().into()),
        })
    }

    fn workflow_entry(
        &self,
        who: &Viewer,
        action: &'static str,
        namespace: Uuid,
        id: Uuid,
        name: &str,
        before: Option<&Definition>,
        after: &Definition,
    ) -> Result<audit_event::ActiveModel, CommandError> {
        let entry = super::audit::AuditEntry {
            action,
            namespace: Some(namespace),
            subject_id: Some(id),
            subject: name,
            before: before.map(shown).transpose()?,
            after: Some(shown(after)?),
            reason: None,
        };
        Ok(self.entry(who, entry))
    }
}

/// The definition with its secrets masked.
pub(super) fn shown(definition: &Definition) -> Result<Value, CommandError> {
    let mut definition = definition.clone();
    for task in &mut definition.tasks {
        task.target = secrets::masked(&task.target);
    }
    json_of(&definition)
}

fn json_of(definition: &Definition) -> Result<Value, CommandError> {
    serde_json::to_value(definition)
        .map_err(|source| CommandError::Unreadable { what: "a new workflow".to_owned(), source })
}

/// The position of a definition in an input.
#[derive(Clone, Copy, Debug)]
pub(super) enum DefinitionPlace<'a> {
    /// A schedule's own task, in the field with this name.
    Task(&'a str),
    /// A workflow, in the field with this name, or in the input itself.
    Workflow(&'a str),
}

impl<'a> DefinitionPlace<'a> {
    fn field(self) -> &'a str {
        match self {
            Self::Workflow("") => "tasks",
            Self::Task(field) | Self::Workflow(field) => field,
        }
    }

    fn task(self, index: usize) -> String {
        match self {
            Self::Task(field) => field.to_owned(),
            Self::Workflow("") => format!("tasks[{index}]"),
            Self::Workflow(field) => format!("{field}.tasks[{index}]"),
        }
    }
}

fn bad_definition(at: DefinitionPlace<'_>, problem: DefinitionProblem) -> BadInput {
    let place = naming::in_api(&problem.field);
    let bad = BadInput::new(&place, problem.value, problem.problem, problem.help);
    match at {
        DefinitionPlace::Task(field) => {
            let place = place.strip_prefix("tasks[0].").unwrap_or(&place).to_owned();
            BadInput { field: place, ..bad }.inside(field)
        }
        DefinitionPlace::Workflow("") => bad,
        DefinitionPlace::Workflow(field) => bad.inside(field),
    }
}

/// A word for the part of a definition that changed.
fn what_changed(old: &Definition, new: &Definition) -> &'static str {
    if old.tasks == new.tasks {
        "limits"
    } else if old.tasks.len() == 1 && new.tasks.len() == 1 {
        "task"
    } else {
        "tasks"
    }
}

pub(super) fn name_taken(name: &str) -> BadInput {
    BadInput::new("name", name, "is the name of another workflow", "choose another name")
}

/// Turns the database's violation of a unique name into an error.
fn name_broken(error: StoreError, name: &str) -> CommandError {
    let StoreError::Broken { constraint: Constraint::WorkflowName } = error else {
        return error.into();
    };
    name_taken(name).into()
}

/// The reference to a workflow in a schedule's history.
pub(super) fn reference(resolved: &ResolvedWorkflow) -> Value {
    json!({ "name": resolved.name, "version": resolved.version })
}
