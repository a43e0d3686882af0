//! Making, changing and deleting schedules.
//!
//! Each is one transaction: the row, its history, the audit log and the idempotency key. What a
//! module deploys goes the same way, so it is checked alike.

use chrono::SubsecRound;
use entity::{Timestamp, schedule::Model, schedule_version};
use sea_orm::{ConnectionTrait, DatabaseTransaction, Set};
use serde::{Deserialize, Serialize};
use timetable::{Timetable, Warning, misfire::CatchUp};
use uuid::Uuid;

use super::{
    BadInput, Call, CommandError, Commands, Editor, Viewer,
    audit::Entry,
    change, cursor,
    spec::Spec,
    workflows::{Resolved, Work, reference},
};
use crate::{
    engine::{accounting, core::new_id},
    store::{Constraint, StoreError, namespaces, schedules},
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
    /// What is likely not meant by its timing.
    pub warnings: Vec<Warning>,
}

impl Commands {
    /// Makes a schedule.
    pub async fn create_schedule(
        &self,
        right: &Editor,
        new: NewSchedule,
        call: &Call,
    ) -> Result<Saved, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, &new.namespace).await?;
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
            super::check::text("reason", reason, 500)?;
        }
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.locked(&tx, edit.id).await?;
        owned_by_people(&row)?;
        if row.version != edit.expected_version {
            return Err(stale(edit.expected_version, row.version));
        }
        let mut spec = Spec::of(&row);
        (edit.apply)(&mut spec);
        let reason = edit.reason.as_deref();
        let (saved, _) = self.update_in(&tx, right.who(), &row, &spec, edit.work, reason).await?;
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
    }

    /// Deletes a schedule: it fires no more. Its runs in flight end by themselves, its history
    /// stays.
    pub async fn delete_schedule(
        &self,
        right: &Editor,
        id: Uuid,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        if let Some(reason) = reason {
            super::check::text("reason", reason, 500)?;
        }
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = self.locked(&tx, id).await?;
        owned_by_people(&row)?;
        self.delete_in(&tx, right.who(), &row, reason).await?;
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit(tx).await?;
        self.signals.wake_planner();
        Ok(id)
    }

    pub(super) async fn create_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        new: NewSchedule,
        module: Option<&str>,
    ) -> Result<Saved, CommandError> {
        let NewSchedule { spec, work, paused, .. } = new;
        spec.check()?;
        let now = self.clock.now();
        let id = new_id(now);
        let anchor = now.trunc_subsecs(0);
        let timetable = self.timetable(&spec, id, anchor)?;
        let resolved = self.resolve(tx, who, namespace, (&spec.name, None), work).await?;

        let mut row = spec.columns();
        row.id = Set(id);
        row.namespace_id = Set(namespace);
        row.workflow_id = Set(resolved.id);
        row.version = Set(1);
        row.anchor_at = Set(anchor.into());
        row.shard = Set(cursor::shard(id));
        row.enabled = Set(!paused);
        row.module = Set(module.map(str::to_owned));
        row.created_at = Set(now.into());
        row.updated_at = Set(now.into());
        if paused {
            row.paused_reason = Set(Some("made paused".to_owned()));
            row.paused_by = Set(Some(who.name.clone()));
            row.paused_at = Set(Some(now.into()));
        }
        cursor::Cursor::from_now(&timetable, now).fill(&mut row);
        let added = schedules::insert(tx, self.store.dialect(), row).await;
        added.map_err(|error| name_taken(error, &spec.name))?;
        self.keep_version(tx, who, id, 1, &spec, &resolved, "made").await?;
        let entry = Entry {
            action: "schedule.create",
            namespace: Some(namespace),
            subject_id: Some(id),
            subject: &spec.name,
            after: Some(snapshot(&spec, &resolved)),
            ..Entry::default()
        };
        self.audit(tx, who, entry).await?;
        Ok(Saved { id, warnings: cursor::warnings(&timetable, now) })
    }

    /// Writes `spec` over the schedule, and says in words what changed; nothing is written if
    /// nothing did.
    pub(super) async fn update_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        spec: &Spec,
        work: Option<Work>,
        reason: Option<&str>,
    ) -> Result<(Saved, String), CommandError> {
        spec.check()?;
        let (before, now) = (Spec::of(row), self.clock.now());
        let timetable = self.timetable(spec, row.id, row.anchor_at.utc())?;
        let saved = Saved { id: row.id, warnings: cursor::warnings(&timetable, now) };
        let current = self.current_workflow(tx, row).await?;
        let resolved = match work {
            Some(work) => {
                let place = (&*spec.name, Some(row));
                self.resolve(tx, who, row.namespace_id, place, work).await?
            }
            None => current.clone(),
        };
        let mut phrases = change::between(&before, spec);
        phrases.extend(match resolved.change.clone() {
            None if resolved.id != current.id => {
                Some(format!("workflow: `{}` -> `{}`", current.name, resolved.name))
            }
            told => told,
        });
        if phrases.is_empty() {
            return Ok((saved, String::new()));
        }
        let told = phrases.join("; ");

        let version = row.version + 1;
        let mut columns = spec.columns();
        columns.workflow_id = Set(resolved.id);
        columns.version = Set(version);
        columns.updated_at = Set(now.into());
        if before.timing != spec.timing {
            if !row.enabled {
                // What the old timing named during the pause is accounted for before the new one
                // begins; the schedule stays paused.
                accounting::resume(&self.store, &self.cache, tx, row.id, CatchUp::Skip, now)
                    .await?;
                columns.enabled = Set(false);
                columns.paused_reason = Set(row.paused_reason.clone());
                columns.paused_by = Set(row.paused_by.clone());
                columns.paused_at = Set(row.paused_at);
                columns.paused_until = Set(row.paused_until);
            }
            cursor::Cursor::from_now(&timetable, now).fill(&mut columns);
        }
        let dialect = self.store.dialect();
        let written = schedules::update_if_version(tx, dialect, row.id, row.version, columns).await;
        if !written.map_err(|error| name_taken(error, &spec.name))? {
            let there = schedules::by_id(tx, row.id).await?.map_or(version, |row| row.version);
            return Err(stale(row.version, there));
        }
        self.keep_version(tx, who, row.id, version, spec, &resolved, &told).await?;
        let entry = Entry {
            action: "schedule.update",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &spec.name,
            reason,
            before: Some(snapshot(&before, &current)),
            after: Some(snapshot(spec, &resolved)),
        };
        self.audit(tx, who, entry).await?;
        Ok((saved, told))
    }

    pub(super) async fn delete_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        let now = Timestamp::from(self.clock.now());
        schedules::delete(tx, self.store.dialect(), row.id, now).await?;
        let current = self.current_workflow(tx, row).await?;
        let entry = Entry {
            action: "schedule.delete",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &row.name,
            reason,
            before: Some(snapshot(&Spec::of(row), &current)),
            after: None,
        };
        Ok(self.audit(tx, who, entry).await?)
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

    /// The namespace of that name.
    pub(crate) async fn namespace<C: ConnectionTrait>(
        &self,
        connection: &C,
        name: &str,
    ) -> Result<Uuid, CommandError> {
        let found = namespaces::by_name(connection, name).await?;
        Ok(found.ok_or_else(|| CommandError::not_found("namespace", name))?.id)
    }

    fn timetable(
        &self,
        spec: &Spec,
        id: Uuid,
        anchor: chrono::DateTime<chrono::Utc>,
    ) -> Result<Timetable, CommandError> {
        let definition = spec.timing.definition(id, anchor);
        Ok(self.cache.timetable(&definition).map_err(BadInput::timing)?)
    }

    async fn current_workflow(
        &self,
        tx: &DatabaseTransaction,
        row: &Model,
    ) -> Result<Resolved, CommandError> {
        let found = crate::store::workflows::by_ids(tx, &[row.workflow_id]).await?;
        let workflow = found.into_iter().next();
        let workflow =
            workflow.ok_or_else(|| CommandError::not_found("workflow", row.workflow_id))?;
        let (name, version) = (workflow.name, workflow.version);
        Ok(Resolved { id: row.workflow_id, name, version, change: None })
    }

    #[expect(clippy::too_many_arguments, reason = "a row of the history has as many parts")]
    async fn keep_version(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        id: Uuid,
        version: i32,
        spec: &Spec,
        workflow: &Resolved,
        told: &str,
    ) -> Result<(), StoreError> {
        let row = schedule_version::ActiveModel {
            schedule_id: Set(id),
            version: Set(version),
            snapshot: Set(snapshot(spec, workflow)),
            change: Set(told.to_owned()),
            changed_by: Set(who.name.clone()),
            changed_at: Set(self.clock.now().into()),
        };
        schedules::insert_version(tx, row).await
    }
}

/// The definition as history and audit log keep it. It holds no secret: the target stands in the
/// workflow.
fn snapshot(spec: &Spec, workflow: &Resolved) -> serde_json::Value {
    let mut json = serde_json::json!(spec);
    json["workflow"] = reference(workflow);
    json
}

fn stale(expected: i32, there: i32) -> CommandError {
    CommandError::Conflict {
        problem: format!("version {there} is there, the change was made from version {expected}"),
        help: "read the schedule again and repeat the change".to_owned(),
        versions: Some((expected, there)),
    }
}

/// Code owns what it declares.
fn owned_by_people(row: &Model) -> Result<(), CommandError> {
    match &row.module {
        None => Ok(()),
        Some(module) => Err(CommandError::conflict(
            format!("schedule {:?} is declared by the module {module:?}", row.name),
            "change the module's file and deploy it; pausing and triggering work here",
        )),
    }
}

fn name_taken(error: StoreError, name: &str) -> CommandError {
    let StoreError::Broken { constraint: Constraint::ScheduleName } = error else {
        return error.into();
    };
    let help = "choose another name, or edit that one";
    BadInput::new("name", name, "is the name of another schedule", help).into()
}
