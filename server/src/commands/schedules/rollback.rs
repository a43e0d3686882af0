//! Restores an earlier definition of a schedule: read from its history, written as a new version.
//! Its position in the timetable is not rolled back: the old definition starts from now.

use entity::{schedule, workflow};
use uuid::Uuid;

use super::{owned_by_people, update::ChangeNote};
use crate::{
    access::{Editor, Viewer},
    commands::{
        BadInput, Call, CommandError, Commands, Saved, Work, versions, workflows::Resolved,
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
    /// Why, for the audit log.
    pub reason: Option<String>,
}

impl Commands {
    /// Makes a new version of a schedule with the definition of an old one.
    pub async fn rollback_schedule(
        &self,
        right: &Editor,
        order: &Rollback,
        call: &Call,
    ) -> Result<Saved, CommandError> {
        let Rollback { id, to_version, expected_version, .. } = *order;
        let reason = order.reason.as_deref();
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
        let kept = if to_version == row.version {
            None
        } else {
            schedules::version(&tx, id, to_version).await?
        };
        let kept = kept.ok_or_else(|| {
            let help = "name an earlier version of this schedule's history";
            BadInput::new("toVersion", to_version, "is no earlier version", help)
        })?;
        let unreadable = |source| CommandError::Unreadable {
            what: format!("version {to_version} of schedule {:?}", row.name),
            source,
        };
        let work = past_work(&kept.snapshot);
        let spec: Spec = serde_json::from_value(kept.snapshot).map_err(unreadable)?;
        let prefix = format!("rolled back to version {to_version}: ");
        let note = ChangeNote { reason, prefix: &prefix };
        let (saved, _) = self.update_in(&tx, right.who(), &row, &spec, work, note).await?;
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit_after_handoffs(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
    }

    /// The workflow that an old version of a schedule ran. If no other schedule runs it, its
    /// definition of that time is restored; a workflow that is shared, or that a module declares,
    /// stays as it is now.
    pub(in crate::commands) async fn resolve_past(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        schedule: Option<&schedule::Model>,
        name: String,
        version: i32,
    ) -> Result<Resolved, CommandError> {
        let row = workflows::by_name(tx, namespace, &name).await?.ok_or_else(|| {
            let help = "make the workflow again, or roll back to another version";
            BadInput::new("toVersion", &name, "runs a workflow that does not exist any more", help)
        })?;
        let except = schedule.map(|row| row.id);
        let is_own = row.module.is_none() && workflows::users(tx, row.id, except).await? == 0;
        let old = match workflows::version(tx, row.id, version).await? {
            Some(old) if is_own && version != row.version => old.definition,
            Some(_) | None => return Ok(as_it_is(row)),
        };
        let unreadable = |source| CommandError::Unreadable {
            what: format!("workflow {name} version {version}"),
            source,
        };
        let old: Definition = serde_json::from_value(old).map_err(unreadable)?;
        let current = self.definition_of(tx, &row).await?;
        self.revise_workflow(tx, who, &row, &current, &old).await
    }
}

fn as_it_is(row: workflow::Model) -> Resolved {
    Resolved { id: row.id, name: row.name, version: row.version, change: None, unset: vec![] }
}

/// What the schedule ran according to a snapshot.
fn past_work(snapshot: &serde_json::Value) -> Option<Work> {
    let workflow = &snapshot["workflow"];
    let name = workflow["name"].as_str()?.to_owned();
    let version = workflow["version"].as_i64().and_then(|version| i32::try_from(version).ok())?;
    Some(Work::Past { name, version })
}
