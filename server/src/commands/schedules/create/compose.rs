//! Composes a schedule's rows from its definition and from the objects that it refers to.
//!
//! This module writes nothing and reads hardly anything. The caller looks up the objects, inside a
//! transaction or before it, and writes the rows.

use chrono::{DateTime, SubsecRound, Utc};
use entity::{Keys, audit_event, schedule, schedule_version};
use sea_orm::{ConnectionTrait, Set};
use uuid::Uuid;

use crate::{
    access::Viewer,
    commands::{
        CommandError, Commands, SavedSchedule, UnsetSecret,
        audit::AuditEntry,
        schedules::{cursor, foreseen::TimingFacts, suppression},
        workflows::{DefinitionPlace, Judgement, ResolvedWorkflow, WorkflowRows},
    },
    model::{Definition, Task, spec::Spec},
    random::new_id,
    store::{schedules, workflows},
};

/// A schedule that is ready to be written.
pub(in crate::commands) struct ComposedSchedule {
    /// The schedule's position in the request.
    pub(in crate::commands) index: usize,
    pub(in crate::commands) namespace: Uuid,
    pub(in crate::commands) name: String,
    pub(in crate::commands) id: Uuid,
    pub(in crate::commands) made_at: DateTime<Utc>,
    /// See `entity::schedule`.
    pub(in crate::commands) fires_an_hour: i64,
    row: schedule::ActiveModel,
    version: schedule_version::ActiveModel,
    entry: audit_event::ActiveModel,
    /// The new workflow for the schedule's own task, if any.
    pub(in crate::commands) work: Option<(Uuid, WorkflowRows)>,
}

impl ComposedSchedule {
    /// The namespace and name of the new workflow for the schedule's own task.
    pub(in crate::commands) fn own_work(&self) -> Option<(Uuid, &str)> {
        self.work.as_ref().map(|_| (self.namespace, &*self.name))
    }
}

/// The identity of a schedule before its rows exist.
#[derive(Clone, Copy, Debug)]
pub(in crate::commands) struct NewIdentity {
    pub(in crate::commands) id: Uuid,
    pub(in crate::commands) anchor: DateTime<Utc>,
    now: DateTime<Utc>,
}

/// The parts of a schedule besides its definition.
pub(in crate::commands) struct ScheduleParts<'a> {
    /// The schedule's position in the request.
    pub(in crate::commands) index: usize,
    pub(in crate::commands) begin: NewIdentity,
    pub(in crate::commands) namespace: Uuid,
    pub(in crate::commands) module: Option<&'a str>,
    pub(in crate::commands) paused: bool,
    pub(in crate::commands) facts: TimingFacts,
    pub(in crate::commands) calendars: Option<Keys>,
    pub(in crate::commands) group: Option<Uuid>,
    pub(in crate::commands) work: OwnWork,
}

/// The workflow that a schedule runs, and the workflow rows to write for it.
pub(in crate::commands) type OwnWork = (ResolvedWorkflow, Option<WorkflowRows>);

impl Commands {
    /// The key and the anchor of a schedule that is created now.
    pub(in crate::commands) fn begin(&self) -> NewIdentity {
        let now = self.clock.now();
        NewIdentity { id: new_id(now), anchor: now.trunc_subsecs(0), now }
    }

    /// The key and the anchor of a schedule that is created now. Uses those that were chosen
    /// earlier, if any.
    pub(in crate::commands) fn begin_as(&self, earlier: Option<NewIdentity>) -> NewIdentity {
        let begin = self.begin();
        earlier.map_or(begin, |NewIdentity { id, anchor, .. }| NewIdentity { id, anchor, ..begin })
    }

    /// A schedule's rows. Everything that it refers to has already been found.
    pub(in crate::commands) fn composed(
        &self,
        who: &Viewer,
        spec: Spec,
        parts: ScheduleParts<'_>,
    ) -> Result<(ComposedSchedule, SavedSchedule), CommandError> {
        let ScheduleParts {
            index,
            begin,
            namespace,
            module,
            paused,
            facts,
            calendars,
            group,
            work,
        } = parts;
        let (NewIdentity { id, anchor, now }, (resolved, brought)) = (begin, work);
        if facts.is_silenced {
            return Err(suppression::silenced(&spec.calendars).into());
        }
        let mut row = spec.columns();
        let version = self.version_row(who, id, 1, &spec, calendars.as_ref(), &resolved, "made");
        row.calendars = Set(calendars);
        row.fire_count = Set(0);
        let TimingFacts { timetable, fires_an_hour, warnings, .. } = facts;
        row.fires_an_hour = Set(fires_an_hour);
        row.group_id = Set(group);
        row.id = Set(id);
        row.namespace_id = Set(namespace);
        row.workflow_id = Set(resolved.id);
        row.version = Set(1);
        row.fires_version = Set(1);
        row.anchor_at = Set(anchor.into());
        row.shard = Set(cursor::shard(id));
        row.enabled = Set(!paused);
        row.module = Set(module.map(str::to_owned));
        row.created_at = Set(now.into());
        row.updated_at = Set(now.into());
        row.paused_reason = Set(paused.then(|| "made paused".to_owned()));
        row.paused_by = Set(paused.then(|| who.name.clone()));
        row.paused_at = Set(paused.then(|| now.into()));
        row.paused_until = Set(None);
        row.paused_missed = Set(None);
        row.paused_window_id = Set(None);
        row.pause_from = Set(None);
        row.pause_window_id = Set(None);
        row.last_fire_at = Set(None);
        row.deleted_at = Set(None);
        cursor::ScheduleCursor::after(&timetable, now).fill(&mut row);
        let entry = AuditEntry {
            action: "schedule.create",
            namespace: Some(namespace),
            subject_id: Some(id),
            subject: &spec.name,
            // The store copies the definition from the history row into the audit entry.
            ..AuditEntry::default()
        };
        let unset = resolved.unset.iter().cloned().map(UnsetSecret::of_own_task).collect();
        let composed = ComposedSchedule {
            index,
            id,
            namespace,
            made_at: now,
            fires_an_hour,
            row,
            version,
            entry: self.entry(who, entry),
            work: brought.map(|rows| (resolved.id, rows)),
            name: spec.name,
        };
        Ok((composed, SavedSchedule { id, row: None, warnings, unset }))
    }

    /// The rows of a schedule's own task: a workflow with the schedule's name.
    pub(in crate::commands) async fn own_work<C: ConnectionTrait>(
        &self,
        connection: &C,
        who: &Viewer,
        namespace: Uuid,
        schedule: &str,
        task: Task,
        judgement: &Judgement,
    ) -> Result<OwnWork, CommandError> {
        let mut definition = Definition::single(task);
        let secrets = judgement.pass(DefinitionPlace::Task("task"), &mut definition, None)?;
        self.check_namespace(connection, namespace, DefinitionPlace::Task("task"), &definition)
            .await?;
        let (mut made, rows) =
            self.compose_workflow(who, namespace, schedule, &definition, None)?;
        made.unset = secrets.unset(connection, namespace).await?;
        Ok((made, Some(rows)))
    }
}

/// The rows to write, workflows first. Requests that share names lock them in the same order.
pub(in crate::commands) fn rows_of(
    mut all: Vec<ComposedSchedule>,
) -> (workflows::NewWorkflowRows, schedules::NewScheduleRows) {
    all.sort_by(|a, b| (&a.name, a.namespace).cmp(&(&b.name, b.namespace)));
    let (mut works, mut news) =
        (workflows::NewWorkflowRows::default(), schedules::NewScheduleRows::default());
    for one in all {
        if let Some((_, WorkflowRows { workflow, version, entry })) = one.work {
            works.0.push(workflow);
            works.1.push(version);
            works.2.push(entry);
        }
        news.0.push(one.row);
        news.1.push(one.version);
        news.2.push(one.entry);
    }
    (works, news)
}
