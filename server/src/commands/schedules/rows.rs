//! A schedule's rows, changed inside somebody's transaction: the definition, its history and the
//! audit log together. By hand or by a module, it goes this way.

use chrono::{DateTime, Utc};
use entity::{Timestamp, schedule::Model, schedule_version, workflow};
use sea_orm::Set;
use uuid::Uuid;

use super::{change, cursor, suppression};
use crate::{
    access::Viewer,
    commands::{
        BadInput, CommandError, Commands, Saved, UnsetSecret, Work,
        audit::Entry,
        error::schedule_name_taken,
        quotas::fires_an_hour,
        versions,
        workflows::{Resolved, reference},
    },
    engine::planning::closing::{self, Ending},
    model::spec::Spec,
    store::{Constraint, DatabaseTransaction, StoreError, quotas::Usage, schedules, workflows},
};

impl Commands {
    /// Writes `spec` over the schedule, and says in words what changed; nothing is written if
    /// nothing did.
    pub(in crate::commands) async fn update_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        spec: &Spec,
        work: Option<Work>,
        reason: Option<&str>,
    ) -> Result<(Saved, String), CommandError> {
        self.revise_in(tx, who, row, spec, work, (reason, "")).await
    }

    /// The same, with a word before what is told of the change.
    pub(in crate::commands) async fn revise_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        spec: &Spec,
        work: Option<Work>,
        (reason, prefix): (Option<&str>, &str),
    ) -> Result<(Saved, String), CommandError> {
        self.check_spec(spec)?;
        let (before, now) = (self.spec_of(tx, row).await?, self.clock.now());
        let place = (row.id, row.anchor_at.utc());
        let (timetable, keys) = self.timetable(tx, row.namespace_id, spec, place).await?;
        let is_another = before.timing != spec.timing || before.calendars != spec.calendars;
        if is_another {
            suppression::allows_something(&spec.calendars, &timetable, now)?;
        }
        if before.max_fires != spec.max_fires {
            leaves_some(spec, row)?;
        }
        let mut saved = Saved {
            id: row.id,
            row: None,
            warnings: cursor::warnings(&timetable, now),
            unset: vec![],
        };
        let current = self.current_workflow(tx, row).await?;
        let current = self.rename_along(tx, row, current, &spec.name).await?;
        let resolved = match work {
            Some(work) => {
                let place = (&*spec.name, Some(row));
                self.resolve(tx, who, row.namespace_id, place, work).await?
            }
            None => current.clone(),
        };
        saved.unset = resolved.unset.iter().cloned().map(UnsetSecret::of_own_task).collect();
        let does_other_work = resolved.id != current.id || resolved.change.is_some();
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
        let told = format!("{prefix}{}", phrases.join("; "));

        let version = row.version + 1;
        let mut columns = spec.columns();
        let group = self.group_key(tx, row.namespace_id, spec.group.as_deref()).await?;
        columns.group_id = Set(group);
        columns.workflow_id = Set(resolved.id);
        columns.version = Set(version);
        columns.updated_at = Set(changed_at(row, now));
        columns.calendars = Set(keys);
        if is_another {
            let rate = fires_an_hour(&timetable, now);
            let more = Usage { schedules: 0, fires_an_hour: rate - row.fires_an_hour };
            if more.fires_an_hour > 0 {
                self.admit_one(tx, row.namespace_id, more).await?;
            }
            columns.fires_an_hour = Set(rate);
        }
        let is_spent = spec.max_fires.is_some_and(|max| max <= row.fire_count);
        let was_spent = row.max_fires.is_some_and(|max| max <= row.fire_count);
        let has_other_fires = does_other_work || !spec.has_the_fires_of(&before);
        if has_other_fires {
            columns.fires_version = Set(version);
        }
        // With the same timing only a cursor that lies behind is moved: what somebody has skipped
        // ahead of its time stays behind it, and what waits for its jitter stays to come.
        let is_due = row.next_fire_at.is_some_and(|at| at.utc() <= now);
        let begins_anew = is_another || (has_other_fires && is_due);
        if begins_anew || was_spent {
            self.has_right_zones(tx).await?;
        }
        let until = match row.next_scheduled_at.filter(|_| begins_anew && !is_another) {
            Some(cursor) => cursor::due_until(&timetable, cursor.utc(), now),
            None => now,
        };
        if begins_anew {
            // What the old version named is accounted for before the new one begins.
            let (schedule, upto) = ((row.id, !row.enabled), (until, now));
            closing::close(&self.store, &self.cache, tx, schedule, Ending::Edited, upto).await?;
        }
        if is_spent {
            cursor::Cursor::none().fill(&mut columns);
        } else if begins_anew || was_spent {
            let place = (row.id, row.last_fire_at);
            let begin = closing::begin(&self.store, tx, place, now).await?;
            let begin = if until < now { until } else { begin };
            cursor::Cursor::after(&timetable, begin).fill(&mut columns);
        }
        let dialect = self.store.dialect();
        let written = schedules::update_if_version(tx, dialect, row.id, row.version, columns).await;
        if !written.map_err(|error| name_broken(error, &spec.name))? {
            let there = schedules::by_id(tx, row.id).await?.map_or(version, |row| row.version);
            return Err(versions::stale("schedule", row.version, there));
        }
        let kept = self.version_row(who, row.id, version, spec, &resolved, &told);
        schedules::insert_version(tx, kept).await?;
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

    pub(in crate::commands) async fn delete_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        let now = self.clock.now();
        let schedule = (row.id, !row.enabled);
        let upto = (now, now);
        closing::close(&self.store, &self.cache, tx, schedule, Ending::Deleted, upto).await?;
        schedules::delete(tx, self.store.dialect(), row.id, Timestamp::from(now)).await?;
        self.stop_backfills_of(tx, who, row.id).await?;
        let current = self.current_workflow(tx, row).await?;
        let before = self.spec_of(tx, row).await?;
        let entry = Entry {
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

    /// A schedule's own workflow goes with it, unless a module declares that or others run it.
    async fn delete_own_workflow(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        current: &Resolved,
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

    async fn current_workflow(
        &self,
        tx: &DatabaseTransaction,
        row: &Model,
    ) -> Result<Resolved, CommandError> {
        let found = workflows::by_ids(tx, &[row.workflow_id]).await?;
        let workflow = found.into_iter().next();
        let workflow =
            workflow.ok_or_else(|| CommandError::not_found("workflow", row.workflow_id))?;
        Ok(Resolved::as_it_is(row.workflow_id, workflow.name, workflow.version))
    }

    pub(in crate::commands) fn version_row(
        &self,
        who: &Viewer,
        id: Uuid,
        version: i32,
        spec: &Spec,
        workflow: &Resolved,
        told: &str,
    ) -> schedule_version::ActiveModel {
        schedule_version::ActiveModel {
            schedule_id: Set(id),
            version: Set(version),
            snapshot: Set(snapshot(spec, workflow)),
            change: Set(told.to_owned()),
            changed_by: Set(who.name.clone()),
            changed_at: Set(self.clock.now().into()),
        }
    }
}

/// The definition as history and audit log keep it. It holds no secret: the target stands in the
/// workflow.
pub(in crate::commands) fn snapshot(spec: &Spec, workflow: &Resolved) -> serde_json::Value {
    let mut json = serde_json::json!(spec);
    json["workflow"] = reference(workflow);
    json
}

/// Whether a workflow of a schedule's name was made for it: it is no older. One that a person made
/// before, and then named, stays.
fn is_made_for(workflow: &workflow::Model, row: &Model) -> bool {
    /// The two rows of one creation may have been composed this far apart.
    const MAX_APART_MS: i64 = 1_000;
    workflow.module.is_none() && workflow.created_at.0 + MAX_APART_MS >= row.created_at.0
}

/// When a schedule is changed: later than it was before, though a clock was set back meanwhile. By the
/// last change it is known from where on its cursor was computed.
pub(in crate::commands) fn changed_at(row: &Model, now: DateTime<Utc>) -> Timestamp {
    Timestamp::from(now).max(Timestamp(row.updated_at.0 + 1))
}

/// A maximum that has been reached already is no maximum, but an end by accident.
fn leaves_some(spec: &Spec, row: &Model) -> Result<(), BadInput> {
    let Some(max) = spec.max_fires.filter(|max| *max <= row.fire_count) else { return Ok(()) };
    let problem = format!("is not more than the {} fires that have started", row.fire_count);
    let help = "give a larger number; to end the schedule, pause or delete it";
    Err(BadInput::new("maxFires", max, problem, help))
}

/// The same of a database that says so itself.
pub(in crate::commands) fn name_broken(error: StoreError, name: &str) -> CommandError {
    let StoreError::Broken { constraint: Constraint::ScheduleName } = error else {
        return error.into();
    };
    schedule_name_taken(name).into()
}
