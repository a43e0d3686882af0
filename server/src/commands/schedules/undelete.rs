//! Restores a deleted schedule with its own workflow. The definition stays complete for a week
//! after the deletion, until retention has purged the row.

use chrono::{DateTime, Utc};
use entity::{
    Keys,
    maintenance_window::{self, State},
    schedule::{ActiveModel, Model},
};
use sea_orm::Set;
use serde_json::json;
use uuid::Uuid;

use super::{
    cursor,
    foreseen::{ForeseenTiming, TimingFacts},
    rows::{changed_at, name_broken, snapshot},
};
use crate::{
    access::Editor,
    commands::{
        BadInput, Call, CommandError, Commands, SavedSchedule,
        audit::AuditEntry,
        workflows::{ResolvedWorkflow, changed_meanwhile},
    },
    engine::planning::{closing, windows::pause_text},
    model::{Spec, check, ledger_check::RESTORED},
    store::{DatabaseTransaction, maintenance, quotas::Usage, schedules, workflows},
};

/// A request to restore a schedule.
#[derive(Clone, Debug)]
pub struct Undelete {
    /// The deleted schedule.
    pub id: Uuid,
    /// The schedule's new name; `None` keeps the previous one.
    pub name: Option<String>,
    /// The reason, for the audit log.
    pub reason: Option<String>,
}

impl Commands {
    /// Restores a deleted schedule. It fires from now on; fires that were due while it was deleted
    /// are not caught up on. It is paused if it was paused when it was deleted, unless the pause was
    /// that of a maintenance window that is over.
    pub async fn undelete_schedule(
        &self,
        right: &Editor,
        order: &Undelete,
        call: &Call,
    ) -> Result<SavedSchedule, CommandError> {
        check::optional_reason(order.reason.as_deref())?;
        let (who, now) = (right.who(), self.clock.now());
        // If the caller sees no such schedule, the transaction reports that.
        let (timing, held_by) = match self.visible_schedule(right.permit(), order.id).await? {
            Some(row) => (self.foresee_stored(&row).await?, row.paused_window_id),
            None => (None, None),
        };
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, who, call).await? {
            return Ok(earlier);
        }
        self.has_right_zones(&tx).await?;
        // A window is locked before its schedules.
        let window = match held_by {
            Some(window) => maintenance::lock(&tx, window).await?,
            None => None,
        };
        let found = schedules::lock_deleted(&tx, order.id).await?;
        let row = found.ok_or_else(|| CommandError::not_found("deleted schedule", order.id))?;
        right.permit().over(row.namespace_id, "deleted schedule", order.id)?;
        if row.paused_window_id != held_by {
            return Err(changed_meanwhile());
        }
        if let Some(module) = &row.module {
            let problem = format!("{:?} was declared by the module {module:?}", row.name);
            let help = "put it back into the module's file and deploy that";
            return Err(CommandError::conflict(problem, help));
        }
        let more = Usage { schedules: 1, fires_an_hour: row.fires_an_hour };
        self.admit_one(&tx, row.namespace_id, more).await?;
        let mut spec = self.spec_of(&tx, &row).await?;
        if let Some(name) = &order.name {
            check::name("name", name)?;
            spec.name.clone_from(name);
        }
        let workflow = self.workflow_back(&tx, &row, &spec).await?;
        let (timing, window) = (timing.as_ref(), window.as_ref());
        let (saved, keys) = self.write_back(&tx, &row, &spec, timing, window, now).await?;
        let (version, keys) = (row.version + 1, keys.as_ref());
        let kept = self.version_row(who, row.id, version, &spec, keys, &workflow, RESTORED);
        schedules::insert_version(&tx, kept).await?;
        let entry = AuditEntry {
            action: "schedule.undelete",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &spec.name,
            reason: order.reason.as_deref(),
            before: Some(json!({ "name": row.name, "deletedAt": row.deleted_at })),
            after: Some(snapshot(&spec, &workflow)),
        };
        self.audit(&tx, who, entry).await?;
        self.remember(&tx, who, call, &saved).await?;
        self.store.commit_after_handoffs(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
    }

    /// The schedule's workflow, restored if it was deleted with the schedule.
    async fn workflow_back(
        &self,
        tx: &DatabaseTransaction,
        row: &Model,
        spec: &Spec,
    ) -> Result<ResolvedWorkflow, CommandError> {
        let found = workflows::by_ids(tx, &[row.workflow_id]).await?.pop();
        let missing = || CommandError::not_found("workflow", row.workflow_id);
        let workflow = found.ok_or_else(missing)?;
        let (id, version) = (workflow.id, workflow.version);
        if workflow.deleted_at.is_none() {
            return Ok(ResolvedWorkflow::as_it_is(id, workflow.name, version));
        }
        // A schedule's own workflow has the same name as the schedule.
        let name = if workflow.name == row.name { &spec.name } else { &workflow.name };
        if let Some(other) = workflows::by_name(tx, row.namespace_id, name).await? {
            let help = "give another name, or rename or delete that workflow";
            let problem = format!("has the name of the workflow {}", other.id);
            return Err(BadInput::new("name", name, problem, help).into());
        }
        workflows::undelete(tx, id, name).await?;
        Ok(ResolvedWorkflow::as_it_is(id, name.clone(), version))
    }

    /// Writes the row, and returns the keys of its calendars.
    async fn write_back(
        &self,
        tx: &DatabaseTransaction,
        row: &Model,
        spec: &Spec,
        timing: Option<&ForeseenTiming>,
        window: Option<&maintenance_window::Model>,
        now: DateTime<Utc>,
    ) -> Result<(SavedSchedule, Option<Keys>), CommandError> {
        let (namespace, anchor) = (row.namespace_id, row.anchor_at.utc());
        let facts = self.timing_facts(tx, namespace, spec, row.id, anchor, timing);
        let (TimingFacts { timetable, warnings, .. }, keys) = facts.await?;
        let version = row.version + 1;
        let group_id = self.group_key(tx, row.namespace_id, spec.group.as_deref()).await?;
        let mut columns = ActiveModel {
            group_id: Set(group_id),
            calendars: Set(keys.clone()),
            version: Set(version),
            // Fires that were in progress when the schedule was deleted keep their verdict.
            fires_version: Set(version),
            updated_at: Set(changed_at(row, now)),
            enabled: Set(row.paused_at.is_none()),
            ..spec.columns()
        };
        if row.paused_window_id.is_some() {
            hold_or_release(&mut columns, window, now);
        }
        if spec.max_fires.is_some_and(|max| max <= row.fire_count) {
            cursor::ScheduleCursor::none().fill(&mut columns);
        } else {
            let begin = closing::begin(&self.store, tx, row.id, row.last_fire_at, now).await?;
            cursor::ScheduleCursor::after(&timetable, begin).fill(&mut columns);
        }
        let written = schedules::undelete(tx, self.store.dialect(), row.id, columns).await;
        written.map_err(|error| name_broken(error, &spec.name))?;
        Ok((SavedSchedule { id: row.id, row: None, warnings, unset: vec![] }, keys))
    }
}

/// Continues or ends the pause of a schedule that a maintenance window held when it was deleted.
/// Since then, the window may have been changed, or have ended, or have been cancelled.
fn hold_or_release(
    columns: &mut ActiveModel,
    window: Option<&maintenance_window::Model>,
    now: DateTime<Utc>,
) {
    let is_on = |window: &&maintenance_window::Model| match window.state {
        State::Planned | State::Active => window.ends_at.utc() > now,
        State::Ended | State::Cancelled => false,
    };
    let holding = window.filter(is_on);
    let text = holding.map(pause_text);
    columns.enabled = Set(holding.is_none());
    columns.paused_until = Set(text.as_ref().map(|text| text.until));
    columns.paused_missed = Set(holding.map(|window| window.missed));
    columns.paused_reason = Set(text.map(|text| text.reason));
    if holding.is_none() {
        columns.paused_by = Set(None);
        columns.paused_at = Set(None);
    }
}
