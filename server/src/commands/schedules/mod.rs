//! Making, changing and deleting schedules.
//!
//! Each is one transaction: the row, its history, the audit log and the idempotency key; those that
//! are made at the same moment share one (`group_commit`). What a module deploys goes the same way,
//! so it is checked alike.
//!
//! - `create`: a new schedule, many at once, or those of a module; `update`, `rows`: a change of one
//! - `behind`: what is far behind is accounted for before
//! - `many_edit`: a change to all that a search finds
//! - `rollback`: a definition as it was; `undelete`: a deleted schedule brought back
//! - `pause`: pause, resume, what a resume would do; `skip`: leave out the next fires
//! - `suppression`: what a schedule names of calendars
//! - `buffer`: fires that wait, reordered and purged
//! - `cursor`: where a schedule stands after an edit
//! - `change`: what an edit changed, in words

pub(super) mod behind;
pub(super) mod buffer;
pub(super) mod change;
pub(super) mod create;
pub(super) mod cursor;
pub(super) mod many_edit;
pub(super) mod pause;
pub(super) mod rollback;
pub(super) mod rows;
pub(super) mod skip;
pub(crate) mod suppression;
pub(super) mod undelete;
pub(super) mod update;

use entity::schedule::Model;
use sea_orm::ConnectionTrait;
use serde::{Deserialize, Serialize};
use timetable::Warning;
use uuid::Uuid;

use self::{create::group_commit::NotTogether, update::ChangeNote};
use super::{Call, CommandError, Commands, UnsetSecret, versions, workflows::Work};
use crate::{
    access::{Editor, Permit},
    model::{check, spec::Spec},
    store::{DatabaseTransaction, namespaces, schedules},
};

/// A schedule to be made.
#[derive(Clone, Debug)]
pub struct NewSchedule {
    /// The tenant, by name.
    pub namespace: String,
    /// What it is.
    pub spec: Spec,
    /// What it runs.
    pub work: Work,
    /// Whether it begins paused.
    pub paused: bool,
}

/// A change of a schedule: what it was made from, and how it is to be.
pub struct Edit {
    /// The schedule.
    pub id: Uuid,
    /// The version that the change was made from.
    pub expected_version: i32,
    /// Turns the definition as it is into the one that is wanted.
    pub apply: Box<dyn FnOnce(&mut Spec) + Send>,
    /// What it runs from now on, if that changes.
    pub work: Option<Work>,
    /// Why, for the audit log.
    pub reason: Option<String>,
}

/// What became of a schedule.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Saved {
    /// The schedule.
    pub id: Uuid,
    /// The schedule as it was left, where it is at hand.
    #[serde(skip)]
    pub row: Option<Box<Model>>,
    /// What is likely not meant by its timing.
    pub warnings: Vec<Warning>,
    /// What its task asks for and does not find.
    #[serde(default)]
    pub unset: Vec<UnsetSecret>,
}

impl Commands {
    /// Makes a schedule.
    pub async fn create_schedule(
        &self,
        right: &Editor,
        new: NewSchedule,
        call: &Call,
    ) -> Result<Saved, CommandError> {
        if !call.has_key() {
            match self.create_together(right, &new).await {
                Ok(saved) => return Ok(saved),
                Err(NotTogether::Refused(error)) => return Err(error),
                Err(NotTogether::Alone) => {}
            }
        }
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), &new.namespace).await?;
        let saved = self.create_in(&tx, right.who(), namespace, new, None).await?;
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
    }

    /// Changes a schedule, if it is still as the caller saw it.
    pub async fn update_schedule(
        &self,
        right: &Editor,
        edit: Edit,
        call: &Call,
    ) -> Result<Saved, CommandError> {
        if let Some(reason) = &edit.reason {
            check::text("reason", reason, 500)?;
        }
        self.shorten(right.permit(), edit.id).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.permitted(&tx, right.permit(), edit.id).await?;
        owned_by_people(&row)?;
        versions::version("schedule", edit.expected_version, row.version)?;
        let mut spec = self.spec_of(&tx, &row).await?;
        (edit.apply)(&mut spec);
        let note = ChangeNote { reason: edit.reason.as_deref(), prefix: "" };
        let (saved, _) = self.update_in(&tx, right.who(), &row, &spec, edit.work, note).await?;
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit_after_handoffs(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
    }

    /// Deletes a schedule: it fires no more, and its backfills stop. Its other runs in flight end
    /// by themselves, its history stays.
    pub async fn delete_schedule(
        &self,
        right: &Editor,
        id: Uuid,
        expected_version: Option<i32>,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        if let Some(reason) = reason {
            check::text("reason", reason, 500)?;
        }
        self.shorten(right.permit(), id).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.permitted(&tx, right.permit(), id).await?;
        owned_by_people(&row)?;
        versions::version("schedule", expected_version, row.version)?;
        self.delete_in(&tx, right.who(), &row, reason).await?;
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit_after_handoffs(tx).await?;
        self.signals.wake_planner();
        self.signals.wake_backfill();
        self.signals.wake_canceller();
        Ok(id)
    }

    /// The living schedule, locked, if the right holds over it.
    pub(super) async fn permitted(
        &self,
        tx: &DatabaseTransaction,
        permit: Permit<'_>,
        id: Uuid,
    ) -> Result<Model, CommandError> {
        let row = self.locked(tx, id).await?;
        permit.over(row.namespace_id, "schedule", id)?;
        Ok(row)
    }

    /// The living schedule, locked.
    pub(super) async fn locked(
        &self,
        tx: &DatabaseTransaction,
        id: Uuid,
    ) -> Result<Model, CommandError> {
        let found = schedules::lock(tx, id).await?;
        found.ok_or_else(|| CommandError::not_found("schedule", id))
    }

    /// The namespace of that name, if the right holds there.
    pub(crate) async fn namespace<C: ConnectionTrait>(
        &self,
        connection: &C,
        permit: Permit<'_>,
        name: &str,
    ) -> Result<Uuid, CommandError> {
        let found = namespaces::by_name(connection, name).await?;
        let id = found.ok_or_else(|| CommandError::not_found("namespace", name))?.id;
        permit.over(id, "namespace", name)?;
        Ok(id)
    }
}

/// Code owns what it declares.
pub(super) fn owned_by_people(row: &Model) -> Result<(), CommandError> {
    match &row.module {
        None => Ok(()),
        Some(module) => Err(CommandError::conflict(
            format!("schedule {:?} is declared by the module {module:?}", row.name),
            "change the module's file and deploy it; pausing and triggering work here",
        )),
    }
}
