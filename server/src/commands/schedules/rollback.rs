//! Restores an earlier definition of a schedule: reads it from the history and writes it as a new
//! version. The position in the timetable is not rolled back: the old definition starts from now.

use entity::{schedule, workflow};
use uuid::Uuid;

use super::{
    foreseen::ForeseenTiming,
    owned_by_people,
    update::{ChangeNote, StoredSchedule},
};
use crate::{
    access::{Editor, Permit, Viewer},
    commands::{
        BadInput, Call, CommandError, Commands, SavedSchedule, ScheduleWork, stored, versions,
        workflows::{Judgement, ResolvedWorkflow},
    },
    model::{Definition, check, spec::Spec},
    store::{DatabaseTransaction, schedules, workflows},
};

/// A rollback request.
#[derive(Clone, Debug)]
pub struct Rollback {
    /// The schedule.
    pub id: Uuid,
    /// The version whose definition is restored.
    pub to_version: i32,
    /// The version that the caller assumes to be current.
    pub expected_version: i32,
    /// The reason, for the audit log.
    pub reason: Option<String>,
}

impl Commands {
    /// Makes a new version of a schedule with the definition of an old one.
    pub async fn rollback_schedule(
        &self,
        right: &Editor,
        order: &Rollback,
        call: &Call,
    ) -> Result<SavedSchedule, CommandError> {
        let Rollback { id, to_version, expected_version, .. } = *order;
        let reason = order.reason.as_deref();
        check::optional_reason(reason)?;
        self.shorten(right.permit(), id).await?;
        let judgement = self.judge_past(right.permit(), id, to_version).await?;
        let timing = self.foresee_past(right.permit(), id, to_version).await?;
        let ended = self.prepare_ended(right.permit(), id).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.permitted(&tx, right.permit(), id).await?;
        owned_by_people(&row)?;
        versions::version("schedule", expected_version, row.version)?;
        let kept = if to_version == row.version {
            None
        } else {
            schedules::version(&tx, id, to_version).await?
        };
        let kept = kept.ok_or_else(|| {
            let help = "name an earlier version of this schedule's history";
            BadInput::new("toVersion", to_version, "is not an earlier version", help)
        })?;
        let work = past_work(&kept.snapshot);
        let whose = || format!("version {to_version} of schedule {:?}", row.name);
        let spec: Spec = stored::read(kept.snapshot, whose)?;
        let prefix = format!("rolled back to version {to_version}: ");
        let note = ChangeNote { reason, prefix: &prefix };
        let (who, timing) = (right.who(), timing.as_ref());
        let (before, ended) = (self.spec_of(&tx, &row).await?, ended.as_ref());
        let stored = StoredSchedule { row: &row, spec: before, ended };
        let updated = self.update_in(&tx, who, stored, &spec, work, &judgement, timing, note);
        let (saved, _) = updated.await?;
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit_after_handoffs(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
    }

    /// Finds the secrets of the work of an old version, before the transaction begins. If the
    /// caller sees no such version, the transaction reports that.
    async fn judge_past(
        &self,
        permit: Permit<'_>,
        id: Uuid,
        to_version: i32,
    ) -> Result<Judgement, CommandError> {
        let read = self.store.read();
        let Some(row) = self.visible_schedule(permit, id).await? else {
            return Ok(Judgement::default());
        };
        let kept = schedules::version(read, id, to_version).await?;
        let work = kept.and_then(|kept| past_work(&kept.snapshot));
        let Some(ScheduleWork::Past { name, version }) = work else {
            return Ok(Judgement::default());
        };
        let workflow = match workflows::by_name(read, row.namespace_id, &name).await? {
            // A rename of the schedule also renames its own workflow, so the workflow may have
            // another name now. The transaction restores the old name before it looks for the
            // workflow.
            None => workflows::by_ids(read, &[row.workflow_id]).await?.pop(),
            found @ Some(_) => found,
        };
        let Some(workflow) = workflow else { return Ok(Judgement::default()) };
        let past = workflows::version(read, workflow.id, version).await?;
        // If the past definition cannot be read, the transaction reports that.
        let past = past.and_then(|past| serde_json::from_value(past.definition).ok());
        Ok(past.map_or_else(Judgement::default, Judgement::of_stored))
    }

    /// The timing of an old version, worked out before the transaction begins. If the caller sees
    /// no such version, the transaction reports that.
    async fn foresee_past(
        &self,
        permit: Permit<'_>,
        id: Uuid,
        to_version: i32,
    ) -> Result<Option<ForeseenTiming>, CommandError> {
        let Some(row) = self.visible_schedule(permit, id).await? else { return Ok(None) };
        let kept = schedules::version(self.store.read(), id, to_version).await?;
        let spec = kept.and_then(|kept| serde_json::from_value::<Spec>(kept.snapshot).ok());
        let Some(spec) = spec else { return Ok(None) };
        let (namespace, anchor) = (row.namespace_id, row.anchor_at.utc());
        self.foresee_timing(namespace, None, id, anchor, &spec).await
    }

    /// The workflow that an old version of a schedule ran. If no other schedule runs it, its
    /// definition from that time is restored; a workflow that is shared, or that a module declares,
    /// keeps its current definition.
    pub(in crate::commands) async fn resolve_past(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        schedule: Option<&schedule::Model>,
        name: String,
        version: i32,
        judgement: &Judgement,
    ) -> Result<ResolvedWorkflow, CommandError> {
        let row = workflows::by_name(tx, namespace, &name).await?.ok_or_else(|| {
            let help = "create the workflow again, or roll back to another version";
            BadInput::new("toVersion", &name, "runs a workflow that no longer exists", help)
        })?;
        let except = schedule.map(|row| row.id);
        let is_own = row.module.is_none() && workflows::users(tx, row.id, except).await? == 0;
        let old = match workflows::version(tx, row.id, version).await? {
            Some(old) if is_own && version != row.version => old.definition,
            Some(_) | None => return Ok(as_it_is(row)),
        };
        let whose = || format!("workflow {name} version {version}");
        let old: Definition = stored::read(old, whose)?;
        let current = self.definition_of(tx, &row).await?;
        let secrets = judgement.secrets_of(&old)?;
        self.revise_workflow(tx, who, &row, &current, &old, secrets).await
    }
}

fn as_it_is(row: workflow::Model) -> ResolvedWorkflow {
    ResolvedWorkflow {
        id: row.id,
        name: row.name,
        version: row.version,
        change: None,
        unset: vec![],
    }
}

/// The workflow that the schedule ran according to a snapshot.
fn past_work(snapshot: &serde_json::Value) -> Option<ScheduleWork> {
    let workflow = &snapshot["workflow"];
    let name = workflow["name"].as_str()?.to_owned();
    let version = workflow["version"].as_i64().and_then(|version| i32::try_from(version).ok())?;
    Some(ScheduleWork::Past { name, version })
}
