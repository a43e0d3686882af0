//! Deleting a schedule's rows within a transaction, and the snapshot of a definition.

use chrono::{DateTime, Utc};
use entity::{Keys, Timestamp, schedule::Model, schedule_version, workflow};
use sea_orm::Set;
use uuid::Uuid;

use crate::{
    access::Viewer,
    commands::{
        CommandError, Commands,
        audit::AuditEntry,
        error::schedule_name_taken,
        workflows::{ResolvedWorkflow, reference},
    },
    engine::planning::{
        closing::{self, Closing, TimingEnd},
        prepared::PreparedTimetable,
    },
    model::{ledger_check::CALENDAR_KEYS, spec::Spec},
    store::{Constraint, DatabaseTransaction, StoreError, schedules, workflows},
};

impl Commands {
    /// Deletes a schedule. `prepared` is its timetable, if it was built beforehand.
    pub(in crate::commands) async fn delete_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        prepared: Option<&PreparedTimetable>,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        let now = self.clock.now();
        let closing = Closing {
            schedule_id: row.id,
            is_paused: !row.enabled,
            prepared,
            ending: TimingEnd::Deleted,
            until: now,
            now,
        };
        closing::close(&self.store, &self.cache, tx, closing).await?;
        schedules::delete(tx, self.store.dialect(), row.id, Timestamp::from(now)).await?;
        self.stop_backfills_of(tx, who, row.id).await?;
        let current = self.current_workflow(tx, row).await?;
        let before = self.spec_of(tx, row).await?;
        let entry = AuditEntry {
            action: "schedule.delete",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &row.name,
            reason,
            before: Some(snapshot(&before, &current)),
            after: None,
        };
        self.audit(tx, who, entry).await?;
        self.delete_own_workflow(tx, who, row, &current).await
    }

    /// Deletes a schedule's own workflow together with the schedule, unless a module declares the
    /// workflow or other schedules run it.
    async fn delete_own_workflow(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        current: &ResolvedWorkflow,
    ) -> Result<(), CommandError> {
        if current.name != row.name {
            return Ok(());
        }
        let found = workflows::lock(tx, current.id).await?;
        let Some(workflow) = found.filter(|workflow| is_made_for(workflow, row)) else {
            return Ok(());
        };
        if workflows::users(tx, workflow.id, Some(row.id)).await? > 0 {
            return Ok(());
        }
        let reason = Some("its schedule was deleted");
        self.delete_workflow_in(tx, who, &workflow, reason).await
    }

    pub(super) async fn current_workflow(
        &self,
        tx: &DatabaseTransaction,
        row: &Model,
    ) -> Result<ResolvedWorkflow, CommandError> {
        let found = workflows::by_ids(tx, &[row.workflow_id]).await?;
        let workflow = found.into_iter().next();
        let workflow =
            workflow.ok_or_else(|| CommandError::not_found("workflow", row.workflow_id))?;
        Ok(ResolvedWorkflow::as_it_is(row.workflow_id, workflow.name, workflow.version))
    }

    /// The history's row of a definition. A calendar may get another name, so the row also has the
    /// keys of the calendars that the definition names.
    pub(in crate::commands) fn version_row(
        &self,
        who: &Viewer,
        id: Uuid,
        version: i32,
        spec: &Spec,
        calendars: Option<&Keys>,
        workflow: &ResolvedWorkflow,
        told: &str,
    ) -> schedule_version::ActiveModel {
        let mut snapshot = snapshot(spec, workflow);
        if let Some(Keys(keys)) = calendars {
            snapshot[CALENDAR_KEYS] = serde_json::json!(keys);
        }
        schedule_version::ActiveModel {
            schedule_id: Set(id),
            version: Set(version),
            snapshot: Set(snapshot),
            change: Set(told.to_owned()),
            changed_by: Set(who.name.clone()),
            changed_at: Set(self.clock.now().into()),
        }
    }
}

/// The definition for history and audit log. It contains no secret, because the target is in the
/// workflow.
pub(in crate::commands) fn snapshot(spec: &Spec, workflow: &ResolvedWorkflow) -> serde_json::Value {
    let mut json = serde_json::json!(spec);
    json["workflow"] = reference(workflow);
    json
}

/// Whether a workflow with the schedule's name was created for the schedule. A workflow that is
/// older than the schedule existed before, and is kept.
fn is_made_for(workflow: &workflow::Model, row: &Model) -> bool {
    /// The times of the two rows of one creation may differ by this much.
    const MAX_APART_MS: i64 = 1_000;
    workflow.module.is_none() && workflow.created_at.0 + MAX_APART_MS >= row.created_at.0
}

/// The time of a schedule's change. It is later than that of the previous change, even if a clock
/// was set back meanwhile, because the cursor is computed from this time on.
pub(in crate::commands) fn changed_at(row: &Model, now: DateTime<Utc>) -> Timestamp {
    Timestamp::from(now).max(Timestamp(row.updated_at.0 + 1))
}

/// Turns the database's violation of a unique name into an error.
pub(in crate::commands) fn name_broken(error: StoreError, name: &str) -> CommandError {
    let StoreError::Broken { constraint: Constraint::ScheduleName } = error else {
        return error.into();
    };
    schedule_name_taken(name).into()
}
