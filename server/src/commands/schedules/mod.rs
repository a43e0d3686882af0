//! Creating, changing and deleting schedules.
//!
//! Each command is one transaction, which writes the row, its history, the audit log and the
//! idempotency key. Concurrent calls that create schedules share a transaction (`group_commit`).
//! Deployments of modules use the same functions, so their schedules are checked in the same way.
//!
//! - `create`: creates one schedule, many at once, or those of a module; `update`, `rows`: changes
//!   one
//! - `behind`: accounts beforehand for schedules that are far behind
//! - `many_edit`: the same change for all schedules that a search finds
//! - `rollback`: restoring an earlier definition; `undelete`: restoring a deleted schedule
//! - `pause`: pause and resume; `resume_preview`: previews of the end of a pause; `skip`: skipping
//!   the next fires
//! - `outage_preview`: what each catch-up policy does about an outage
//! - `suppression`: the calendars that a schedule names
//! - `buffer`: reordering and purging waiting fires
//! - `cursor`: the next fire after an edit; `foreseen`: timings that are worked out before a
//!   transaction; `prepared`: the timetable of a stored schedule, likewise
//! - `change`: a description of an edit

pub(super) mod behind;
pub(super) mod buffer;
pub(super) mod change;
pub(super) mod create;
pub(super) mod cursor;
pub(super) mod foreseen;
pub(super) mod many_edit;
pub(crate) mod outage_preview;
pub(super) mod pause;
mod prepared;
pub(super) mod resume_preview;
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

use self::{
    create::group_commit::NotTogether,
    foreseen::ForeseenTiming,
    update::{ChangeNote, StoredSchedule},
};
use super::{
    Call, CommandError, Commands, UnsetSecret, versions,
    workflows::{ScheduleWork, changed_meanwhile},
};
use crate::{
    access::{Editor, Permit},
    model::{check, spec::Spec},
    store::{DatabaseTransaction, namespaces, schedules},
};

/// A schedule to create.
#[derive(Clone, Debug)]
pub struct NewSchedule {
    /// The namespace, by name.
    pub namespace: String,
    /// The schedule's definition.
    pub spec: Spec,
    /// The workflow or task that the schedule runs.
    pub work: ScheduleWork,
    /// Whether the schedule starts paused.
    pub paused: bool,
}

/// A change of a schedule: the version that it is based on, and how to apply it.
pub struct Edit {
    /// The schedule.
    pub id: Uuid,
    /// The version that the change is based on.
    pub expected_version: i32,
    /// Changes the current definition into the requested one.
    pub apply: ApplyEdit,
    /// The workflow or task that the schedule runs from now on, if that changes.
    pub work: Option<ScheduleWork>,
    /// The reason, for the audit log.
    pub reason: Option<String>,
}

/// Changes the current definition of a schedule into the requested one.
type ApplyEdit = Box<dyn FnOnce(&mut Spec) + Send>;

/// An edit that was applied before its transaction.
struct ForeseenEdit {
    /// The definition that it was applied to.
    before: Spec,
    after: Spec,
    timing: Option<ForeseenTiming>,
}

/// A schedule after a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedSchedule {
    /// The schedule.
    pub id: Uuid,
    /// The schedule's new row, if the command has it.
    #[serde(skip)]
    pub row: Option<Box<Model>>,
    /// Warnings about the schedule's timing.
    pub warnings: Vec<Warning>,
    /// Secrets that the schedule's task uses and that are not set.
    #[serde(default)]
    pub unset: Vec<UnsetSecret>,
}

impl Commands {
    /// Creates a schedule.
    pub async fn create_schedule(
        &self,
        right: &Editor,
        new: NewSchedule,
        call: &Call,
    ) -> Result<SavedSchedule, CommandError> {
        if let Some(earlier) = self.recall_early(right.who(), call).await? {
            return Ok(earlier);
        }
        let judgement = self.judge_new(right, &new.namespace, &new.work).await?;
        if !call.has_key() {
            match self.create_together(right, &new, &judgement).await {
                Ok(saved) => return Ok(saved),
                Err(NotTogether::Refused(error)) => return Err(error),
                Err(NotTogether::Alone) => {}
            }
        }
        let timing = self.foresee_created(right, &new).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), &new.namespace).await?;
        let (who, timing) = (right.who(), timing.as_ref());
        let saved = self.create_in(&tx, who, namespace, new, &judgement, timing, None).await?;
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
    }

    /// Changes a schedule, if it is still in the version that the caller saw.
    pub async fn update_schedule(
        &self,
        right: &Editor,
        edit: Edit,
        call: &Call,
    ) -> Result<SavedSchedule, CommandError> {
        let Edit { id, expected_version, apply, work, reason } = edit;
        check::optional_reason(reason.as_deref())?;
        if let Some(earlier) = self.recall_early(right.who(), call).await? {
            return Ok(earlier);
        }
        self.shorten(right.permit(), id).await?;
        let judgement = self.judge_edit(right.permit(), id, work.as_ref()).await?;
        let mut apply = Some(apply);
        let planned = self.foresee_edit(right.permit(), id, expected_version, &mut apply).await?;
        let ended = self.prepare_ended(right.permit(), id).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.permitted(&tx, right.permit(), id).await?;
        owned_by_people(&row)?;
        versions::version("schedule", expected_version, row.version)?;
        let (before, ended) = (self.spec_of(&tx, &row).await?, ended.as_ref());
        let stored = StoredSchedule { row: &row, spec: before, ended };
        let (spec, timing) = match (planned, apply) {
            // A calendar or a group of the schedule may have been renamed meanwhile.
            (Some(planned), _) if planned.before == stored.spec => (planned.after, planned.timing),
            (None, Some(apply)) => {
                let mut spec = stored.spec.clone();
                apply(&mut spec);
                (spec, None)
            }
            (Some(_), _) | (None, None) => return Err(changed_meanwhile()),
        };
        let note = ChangeNote { reason: reason.as_deref(), prefix: "" };
        let (who, timing) = (right.who(), timing.as_ref());
        let saved = self.update_in(&tx, who, stored, &spec, work, &judgement, timing, note);
        let (saved, _) = saved.await?;
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit_after_handoffs(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
    }

    /// The timing of a new schedule, worked out before its transaction. `None` if the caller may
    /// not create it, which the transaction reports.
    async fn foresee_created(
        &self,
        right: &Editor,
        new: &NewSchedule,
    ) -> Result<Option<ForeseenTiming>, CommandError> {
        let read = self.store.read();
        let Ok(namespace) = self.namespace(read, right.permit(), &new.namespace).await else {
            return Ok(None);
        };
        let begin = self.begin();
        self.foresee_timing(namespace, Some(begin), begin.id, begin.anchor, &new.spec).await
    }

    /// Applies an edit to the schedule as it is now, and works out the timing, before the
    /// transaction. `None` if the version is outdated or the caller may not change the schedule:
    /// the transaction reports that.
    async fn foresee_edit(
        &self,
        permit: Permit<'_>,
        id: Uuid,
        version: i32,
        apply: &mut Option<ApplyEdit>,
    ) -> Result<Option<ForeseenEdit>, CommandError> {
        let found = self.visible_schedule(permit, id).await?;
        let is_it = |row: &Model| {
            row.version == version && row.deleted_at.is_none() && row.module.is_none()
        };
        let Some(row) = found.filter(is_it) else { return Ok(None) };
        let before = self.spec_of(self.store.read(), &row).await?;
        let Some(apply) = apply.take() else { return Ok(None) };
        let mut after = before.clone();
        apply(&mut after);
        let (namespace, anchor) = (row.namespace_id, row.anchor_at.utc());
        let timing = self.foresee_timing(namespace, None, id, anchor, &after).await?;
        Ok(Some(ForeseenEdit { before, after, timing }))
    }

    /// Deletes a schedule: it no longer fires, and its backfills stop. Its other live runs finish
    /// on their own, and its history stays.
    pub async fn delete_schedule(
        &self,
        right: &Editor,
        id: Uuid,
        expected_version: Option<i32>,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::optional_reason(reason)?;
        self.shorten(right.permit(), id).await?;
        let ended = self.prepare_ended(right.permit(), id).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.permitted(&tx, right.permit(), id).await?;
        owned_by_people(&row)?;
        versions::version("schedule", expected_version, row.version)?;
        self.delete_in(&tx, right.who(), &row, ended.as_ref(), reason).await?;
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit_after_handoffs(tx).await?;
        self.signals.wake_planner();
        self.signals.wake_backfill();
        self.signals.wake_canceller();
        Ok(id)
    }

    /// The schedule, locked. Fails if it is deleted or the permission does not cover it.
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

    /// The schedule, locked. Fails if it is deleted.
    pub(super) async fn locked(
        &self,
        tx: &DatabaseTransaction,
        id: Uuid,
    ) -> Result<Model, CommandError> {
        let found = schedules::lock(tx, id).await?;
        found.ok_or_else(|| CommandError::not_found("schedule", id))
    }

    /// The namespace with this name, if the permission covers it.
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

/// Refuses to change a schedule that a module declares.
pub(super) fn owned_by_people(row: &Model) -> Result<(), CommandError> {
    match &row.module {
        None => Ok(()),
        Some(module) => Err(CommandError::conflict(
            format!("schedule {:?} is declared by the module {module:?}", row.name),
            "change the module's file and deploy it; pausing and triggering work here",
        )),
    }
}
