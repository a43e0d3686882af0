//! Creates, changes and deletes workflows that do not belong to a schedule or module.

use entity::workflow;
use uuid::Uuid;

use super::{DefinitionPlace, Judgement, changed_meanwhile};
use crate::{
    access::{Editor, Permit},
    commands::{Call, CommandError, Commands, versions},
    model::{Definition, check},
    store::{DatabaseTransaction, workflows},
};

/// A workflow to create.
#[derive(Clone, Debug)]
pub struct NewWorkflow {
    /// The namespace, by name.
    pub namespace: String,
    /// Unique among the namespace's workflows.
    pub name: String,
    /// The workflow's tasks.
    pub definition: Definition,
}

/// A change of a workflow: the version that it is based on, and how to apply it.
pub struct WorkflowEdit {
    /// The workflow.
    pub id: Uuid,
    /// The version that the change is based on.
    pub expected_version: i32,
    /// Turns the current definition into the requested one.
    pub apply: Box<dyn FnOnce(&mut Definition) + Send>,
}

/// A change of a workflow, judged before its transaction.
struct JudgedRevision {
    /// The workflow's version that the change was applied to.
    version: i32,
    old: Definition,
    new: Definition,
    judgement: Judgement,
}

impl Commands {
    /// Creates a workflow.
    pub async fn create_workflow(
        &self,
        right: &Editor,
        new: NewWorkflow,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        let NewWorkflow { namespace, name, mut definition } = new;
        if let Some(earlier) = self.recall_early(right.who(), call).await? {
            return Ok(earlier);
        }
        let home = self.namespace(self.store.read(), right.permit(), &namespace).await?;
        let judgement = self.judge(home, &definition, None).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let secrets = judgement.pass(DefinitionPlace::Workflow(""), &mut definition, None)?;
        let namespace = self.namespace(&tx, right.permit(), &namespace).await?;
        self.check_namespace(&tx, namespace, DefinitionPlace::Workflow(""), &definition).await?;
        let added =
            self.add_workflow(&tx, right.who(), namespace, &name, &definition, secrets, None);
        let id = added.await?.id;
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit(tx).await?;
        Ok(id)
    }

    /// Gives a workflow another definition, if it is still in the version that the caller saw. Runs
    /// that have started keep their definition.
    pub async fn update_workflow(
        &self,
        right: &Editor,
        revision: WorkflowEdit,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        let WorkflowEdit { id, expected_version, apply } = revision;
        if let Some(earlier) = self.recall_early(right.who(), call).await? {
            return Ok(earlier);
        }
        let judged = self.judge_revision(right.permit(), id, apply).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.own_workflow(&tx, right.permit(), id).await?;
        versions::version("workflow", expected_version, row.version)?;
        let judged = judged.filter(|judged| judged.version == row.version);
        let JudgedRevision { old, mut new, judgement, .. } =
            judged.ok_or_else(changed_meanwhile)?;
        let secrets = judgement.pass(DefinitionPlace::Workflow(""), &mut new, Some(&old))?;
        self.check_namespace(&tx, row.namespace_id, DefinitionPlace::Workflow(""), &new).await?;
        self.revise_workflow(&tx, right.who(), &row, &old, &new, secrets).await?;
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit(tx).await?;
        Ok(id)
    }

    /// Deletes a workflow, unless a schedule runs it. Its live runs finish on their own, and its
    /// history stays.
    pub async fn delete_workflow(
        &self,
        right: &Editor,
        id: Uuid,
        expected_version: Option<i32>,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.own_workflow(&tx, right.permit(), id).await?;
        versions::version("workflow", expected_version, row.version)?;
        let users = workflows::users(&tx, id, None).await?;
        if users > 0 {
            let run = if users == 1 {
                "1 schedule runs".to_owned()
            } else {
                format!("{users} schedules run")
            };
            return Err(CommandError::conflict(
                format!("{run} workflow {:?}", row.name),
                "delete them, or point them at another workflow first",
            ));
        }
        self.delete_workflow_in(&tx, right.who(), &row, reason).await?;
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit(tx).await?;
        Ok(id)
    }

    /// Applies a change to the workflow as it is now, and judges the result. Returns `None` if the
    /// caller sees no such workflow; the transaction then reports that.
    async fn judge_revision(
        &self,
        permit: Permit<'_>,
        id: Uuid,
        apply: Box<dyn FnOnce(&mut Definition) + Send>,
    ) -> Result<Option<JudgedRevision>, CommandError> {
        let read = self.store.read();
        let row = workflows::by_ids(read, &[id]).await?.pop();
        let row = row.filter(|row| permit.over(row.namespace_id, "workflow", id).is_ok());
        let Some(row) = row else { return Ok(None) };
        let old = self.definition_of(read, &row).await?;
        let mut new = old.clone();
        apply(&mut new);
        let judgement = self.judge(row.namespace_id, &new, Some(&old)).await?;
        Ok(Some(JudgedRevision { version: row.version, old, new, judgement }))
    }

    /// The workflow, locked, if it is not deleted. Refused if a module declares it.
    async fn own_workflow(
        &self,
        tx: &DatabaseTransaction,
        permit: Permit<'_>,
        id: Uuid,
    ) -> Result<workflow::Model, CommandError> {
        let row = workflows::lock(tx, id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("workflow", id))?;
        permit.over(row.namespace_id, "workflow", id)?;
        versions::owned_by_people("workflow", &row.name, row.module.as_deref())?;
        Ok(row)
    }
}
