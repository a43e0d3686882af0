//! Concurrency groups: creating, changing and deleting the limits that schedules share.

use entity::{
    Timestamp,
    concurrency_group::{ActiveModel, Model},
};
use sea_orm::{ConnectionTrait, Set};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    BadInput, Call, CommandError, Commands, audit::AuditEntry, error::group_missing, versions,
};
use crate::{
    access::{Editor, Permit, Viewer},
    model::check,
    random::new_id,
    store::{Constraint, DatabaseTransaction, StoreError, groups},
};

/// The maximum number of groups in one namespace.
pub(crate) const MAX_GROUPS: u64 = 500;

/// A group after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedGroup {
    /// The group.
    pub id: Uuid,
}

/// A change of a group. `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct GroupEdit {
    /// The version that the change is based on.
    pub expected_version: i32,
    /// The new name, if it changes.
    pub name: Option<String>,
    /// The new limit, if it changes.
    pub max_runs: Option<i64>,
}

impl Commands {
    /// Creates a group.
    pub async fn create_group(
        &self,
        right: &Editor,
        namespace: &str,
        name: &str,
        max_runs: i64,
        call: &Call,
    ) -> Result<SavedGroup, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), namespace).await?;
        let id = self.add_group(&tx, right.who(), namespace, name, max_runs, None).await?;
        let grouped = SavedGroup { id };
        self.remember(&tx, right.who(), call, &grouped).await?;
        self.store.commit(tx).await?;
        Ok(grouped)
    }

    /// Changes a group. Runs beyond a lowered limit continue, and no others start until there is
    /// room.
    pub async fn update_group(
        &self,
        right: &Editor,
        id: Uuid,
        edit: &GroupEdit,
        call: &Call,
    ) -> Result<SavedGroup, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.locked_group(&tx, right.permit(), id).await?;
        versions::version("concurrency group", edit.expected_version, row.version)?;
        let name = edit.name.as_deref().unwrap_or(&row.name);
        let max_runs = edit.max_runs.unwrap_or_else(|| row.max_runs.into());
        self.revise_group(&tx, right.who(), &row, name, max_runs).await?;
        let grouped = SavedGroup { id };
        self.remember(&tx, right.who(), call, &grouped).await?;
        self.store.commit(tx).await?;
        // Under a higher limit, waiting runs may have room.
        self.signals.wake_dispatcher();
        Ok(grouped)
    }

    /// Deletes a group that no schedule names.
    pub async fn delete_group(
        &self,
        right: &Editor,
        id: Uuid,
        expected_version: Option<i32>,
        call: &Call,
    ) -> Result<SavedGroup, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.locked_group(&tx, right.permit(), id).await?;
        versions::version("concurrency group", expected_version, row.version)?;
        self.remove_group(&tx, right.who(), &row).await?;
        let grouped = SavedGroup { id };
        self.remember(&tx, right.who(), call, &grouped).await?;
        self.store.commit(tx).await?;
        self.signals.wake_dispatcher();
        Ok(grouped)
    }

    /// The key of the group that a schedule names.
    pub(super) async fn group_key(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        name: Option<&str>,
    ) -> Result<Option<Uuid>, CommandError> {
        let Some(name) = name else { return Ok(None) };
        let found = groups::keep_by_name(tx, namespace, name).await?;
        Ok(Some(found.ok_or_else(|| group_missing(name))?.id))
    }

    /// The name of the group that a schedule's row refers to.
    pub(super) async fn group_name<C: ConnectionTrait>(
        &self,
        connection: &C,
        group: Option<Uuid>,
    ) -> Result<Option<String>, CommandError> {
        let Some(id) = group else { return Ok(None) };
        Ok(groups::by_ids(connection, &[id]).await?.pop().map(|group| group.name))
    }

    pub(super) async fn add_group(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        name: &str,
        max_runs: i64,
        module: Option<&str>,
    ) -> Result<Uuid, CommandError> {
        let max = checked(name, max_runs)?;
        if groups::count(tx, namespace).await? >= MAX_GROUPS {
            let problem = format!("is one more than the {MAX_GROUPS} groups of a namespace");
            return Err(BadInput::new("name", name, problem, "delete one that is not used").into());
        }
        let now = self.clock.now();
        let (id, at) = (new_id(now), Timestamp::from(now));
        let row = ActiveModel {
            id: Set(id),
            namespace_id: Set(namespace),
            name: Set(name.to_owned()),
            max_runs: Set(max),
            version: Set(1),
            module: Set(module.map(str::to_owned)),
            created_at: Set(at),
            updated_at: Set(at),
        };
        groups::insert(tx, row).await.map_err(|error| name_taken(error, name))?;
        let after = Some(shown(name, max));
        self.audit_group(tx, who, "group.create", namespace, id, name, None, after).await?;
        Ok(id)
    }

    /// Sets the name and limit of a group; returns a description of what changed.
    pub(super) async fn revise_group(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        name: &str,
        max_runs: i64,
    ) -> Result<Option<String>, CommandError> {
        let max = checked(name, max_runs)?;
        let mut phrases = Vec::new();
        if name != row.name {
            phrases.push(format!("name: `{}` -> `{name}`", row.name));
        }
        if max != row.max_runs {
            phrases.push(format!("limit: `{}` -> `{max}`", row.max_runs));
        }
        if phrases.is_empty() {
            return Ok(None);
        }
        let at = self.clock.now().into();
        let written = groups::update(tx, row.id, name, max, at).await;
        written.map_err(|error| name_taken(error, name))?;
        self.audit_group(
            tx,
            who,
            "group.update",
            row.namespace_id,
            row.id,
            name,
            Some(shown(&row.name, row.max_runs)),
            Some(shown(name, max)),
        )
        .await?;
        Ok(Some(phrases.join("; ")))
    }

    pub(super) async fn remove_group(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
    ) -> Result<(), CommandError> {
        let users = groups::users(tx, row.id).await?;
        if users > 0 {
            return Err(CommandError::conflict(
                format!("{users} schedules are in the concurrency group {:?}", row.name),
                "put them into another group, or none, first",
            ));
        }
        groups::delete(tx, row.id).await?;
        self.audit_group(
            tx,
            who,
            "group.delete",
            row.namespace_id,
            row.id,
            &row.name,
            Some(shown(&row.name, row.max_runs)),
            None,
        )
        .await
    }

    /// The group, locked. Refused if a module declares it, because then the module's file must
    /// change instead.
    async fn locked_group(
        &self,
        tx: &DatabaseTransaction,
        permit: Permit<'_>,
        id: Uuid,
    ) -> Result<Model, CommandError> {
        let row = groups::lock(tx, id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("concurrency group", id))?;
        permit.over(row.namespace_id, "concurrency group", id)?;
        versions::owned_by_people("group", &row.name, row.module.as_deref())?;
        Ok(row)
    }

    async fn audit_group(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        action: &'static str,
        namespace: Uuid,
        id: Uuid,
        name: &str,
        before: Option<Value>,
        after: Option<Value>,
    ) -> Result<(), CommandError> {
        let entry = AuditEntry {
            action,
            namespace: Some(namespace),
            subject_id: Some(id),
            subject: name,
            reason: None,
            before,
            after,
        };
        Ok(self.audit(tx, who, entry).await?)
    }
}

/// Checks the name and the limit of a group; returns the limit.
pub(super) fn checked(name: &str, max_runs: i64) -> Result<i32, BadInput> {
    check::name("name", name)?;
    check::number("maxRuns", max_runs, 1..=10_000, "")?;
    Ok(i32::try_from(max_runs).unwrap_or(i32::MAX))
}

fn shown(name: &str, max_runs: i32) -> Value {
    json!({ "name": name, "maxRuns": max_runs })
}

fn name_taken(error: StoreError, name: &str) -> CommandError {
    let StoreError::Broken { constraint: Constraint::GroupName } = error else {
        return error.into();
    };
    let help = "choose another name, or change that one";
    BadInput::new("name", name, "is the name of another concurrency group", help).into()
}
