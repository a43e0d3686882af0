//! Changing a schedule's rows within a transaction: the definition, its history and the audit log
//! together, for both manual changes and modules.

use chrono::{DateTime, Utc};
use entity::{
    Keys,
    schedule::{ActiveModel, Model},
};
use sea_orm::Set;

use super::{
    change, cursor,
    foreseen::{ForeseenTiming, TimingFacts},
    rows::{changed_at, name_broken, snapshot},
    suppression,
};
use crate::{
    access::Viewer,
    commands::{
        BadInput, CommandError, Commands, SavedSchedule, ScheduleWork, UnsetSecret,
        audit::AuditEntry,
        versions,
        workflows::{Judgement, ResolvedWorkflow},
    },
    engine::planning::{
        closing::{self, Closing, TimingEnd},
        prepared::PreparedTimetable,
    },
    model::spec::Spec,
    store::{DatabaseTransaction, quotas::Usage, schedules},
};

/// How history and audit log describe a change.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::commands) struct ChangeNote<'a> {
    /// The reason, for the audit log.
    pub(in crate::commands) reason: Option<&'a str>,
    /// A prefix for the description in the history.
    pub(in crate::commands) prefix: &'a str,
}

/// A locked schedule, with its complete definition.
#[derive(Debug)]
pub(in crate::commands) struct StoredSchedule<'a> {
    pub(in crate::commands) row: &'a Model,
    pub(in crate::commands) spec: Spec,
    /// Its timetable, which the change may end, if it was built beforehand.
    pub(in crate::commands) ended: Option<&'a PreparedTimetable>,
}

/// A definition that replaces another.
struct Revision<'a> {
    row: &'a Model,
    before: Spec,
    /// The timetable of the old definition, if it was built beforehand.
    ended: Option<&'a PreparedTimetable>,
    spec: &'a Spec,
    /// The timing of the new definition.
    facts: TimingFacts,
    /// The calendars of the new definition.
    calendars: Option<Keys>,
    now: DateTime<Utc>,
}

/// The workflows of a revision, before and after it.
struct Works {
    before: ResolvedWorkflow,
    after: ResolvedWorkflow,
}

impl Works {
    fn differ(&self) -> bool {
        self.after.id != self.before.id || self.after.change.is_some()
    }

    /// The description of the workflow's change, if it changed.
    fn told(&self) -> Option<String> {
        let Self { before, after } = self;
        match after.change.clone() {
            None if after.id != before.id => {
                Some(format!("workflow: `{}` -> `{}`", before.name, after.name))
            }
            told => told,
        }
    }
}

impl Revision<'_> {
    /// Whether the schedule's due instants change.
    fn has_other_timing(&self) -> bool {
        self.before.timing != self.spec.timing || self.before.calendars != self.spec.calendars
    }

    /// Whether the schedule's fires change: their times, or the workflow that they run.
    fn has_other_fires(&self, works: &Works) -> bool {
        works.differ() || !self.spec.has_the_fires_of(&self.before)
    }

    /// Whether the schedule has reached the new maximum number of fires.
    fn is_spent(&self) -> bool {
        self.spec.max_fires.is_some_and(|max| max <= self.row.fire_count)
    }

    /// Whether the schedule had reached the old maximum number of fires.
    fn was_spent(&self) -> bool {
        self.row.max_fires.is_some_and(|max| max <= self.row.fire_count)
    }

    /// Whether the cursor moves. If the timing stays the same, the cursor moves only if it is due:
    /// fires that were skipped in advance stay behind it, and a fire that waits for its jitter
    /// stays ahead of it.
    fn begins_anew(&self, works: &Works) -> bool {
        let is_due = self.row.next_fire_at.is_some_and(|at| at.utc() <= self.now);
        self.has_other_timing() || (self.has_other_fires(works) && is_due)
    }

    /// Checks that depend on the schedule's current state.
    fn check(&self) -> Result<(), BadInput> {
        if self.has_other_timing() && self.facts.is_silenced {
            return Err(suppression::silenced(&self.spec.calendars));
        }
        if self.before.max_fires != self.spec.max_fires {
            leaves_some(self.spec, self.row)?;
        }
        Ok(())
    }
}

impl Commands {
    /// Writes `spec` to the schedule, and returns a description of what changed; nothing is written
    /// if nothing changed. `judgement` is that of `work`; `timing` was worked out beforehand.
    pub(in crate::commands) async fn update_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        stored: StoredSchedule<'_>,
        spec: &Spec,
        work: Option<ScheduleWork>,
        judgement: &Judgement,
        timing: Option<&ForeseenTiming>,
        note: ChangeNote<'_>,
    ) -> Result<(SavedSchedule, String), CommandError> {
        let row = stored.row;
        let revision = self.revision(tx, stored, spec, timing).await?;
        let works = self.works(tx, who, &revision, work, judgement).await?;
        let unset = works.after.unset.iter().cloned().map(UnsetSecret::of_own_task).collect();
        let warnings = revision.facts.warnings.clone();
        let saved = SavedSchedule { id: row.id, row: None, warnings, unset };
        let mut phrases = change::between(&revision.before, spec);
        phrases.extend(works.told());
        if phrases.is_empty() {
            return Ok((saved, String::new()));
        }
        let told = format!("{}{}", note.prefix, phrases.join("; "));

        let mut columns = self.columns_of(tx, &revision, &works).await?;
        self.move_cursor(tx, &revision, &works, &mut columns).await?;
        let version = row.version + 1;
        let dialect = self.store.dialect();
        let written = schedules::update_if_version(tx, dialect, row.id, row.version, columns).await;
        if !written.map_err(|error| name_broken(error, &spec.name))? {
            let there = schedules::by_id(tx, row.id).await?.map_or(version, |row| row.version);
            return Err(versions::stale("schedule", row.version, there));
        }
        let calendars = revision.calendars.as_ref();
        let kept = self.version_row(who, row.id, version, spec, calendars, &works.after, &told);
        schedules::insert_version(tx, kept).await?;
        let entry = AuditEntry {
            action: "schedule.update",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &spec.name,
            reason: note.reason,
            before: Some(snapshot(&revision.before, &works.before)),
            after: Some(snapshot(spec, &works.after)),
        };
        self.audit(tx, who, entry).await?;
        Ok((saved, told))
    }

    /// The checked revision that a change results in.
    async fn revision<'a>(
        &self,
        tx: &DatabaseTransaction,
        stored: StoredSchedule<'a>,
        spec: &'a Spec,
        timing: Option<&ForeseenTiming>,
    ) -> Result<Revision<'a>, CommandError> {
        self.check_spec(spec)?;
        let StoredSchedule { row, spec: before, ended } = stored;
        let now = self.clock.now();
        let (namespace, anchor) = (row.namespace_id, row.anchor_at.utc());
        let facts = self.timing_facts(tx, namespace, spec, row.id, anchor, timing);
        let (facts, calendars) = facts.await?;
        let revision = Revision { row, before, ended, spec, facts, calendars, now };
        revision.check()?;
        Ok(revision)
    }

    /// The workflow that the schedule runs. The schedule's own workflow is renamed together with
    /// it.
    async fn works(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        Revision { row, spec, .. }: &Revision<'_>,
        work: Option<ScheduleWork>,
        judgement: &Judgement,
    ) -> Result<Works, CommandError> {
        let before = self.current_workflow(tx, row).await?;
        let before = self.rename_along(tx, row, before, &spec.name).await?;
        let after = match work {
            Some(work) => {
                let (namespace, name) = (row.namespace_id, &spec.name);
                self.resolve(tx, who, namespace, name, Some(*row), work, judgement).await?
            }
            None => before.clone(),
        };
        Ok(Works { before, after })
    }

    /// The row's columns except for the cursor. If the schedule will fire more often, the quota
    /// must admit it.
    async fn columns_of(
        &self,
        tx: &DatabaseTransaction,
        revision: &Revision<'_>,
        works: &Works,
    ) -> Result<ActiveModel, CommandError> {
        let Revision { row, spec, now, .. } = revision;
        let version = row.version + 1;
        let group = self.group_key(tx, row.namespace_id, spec.group.as_deref()).await?;
        let mut columns = ActiveModel {
            group_id: Set(group),
            workflow_id: Set(works.after.id),
            version: Set(version),
            updated_at: Set(changed_at(row, *now)),
            calendars: Set(revision.calendars.clone()),
            ..spec.columns()
        };
        if revision.has_other_timing() {
            let rate = revision.facts.fires_an_hour;
            let more = Usage { schedules: 0, fires_an_hour: rate - row.fires_an_hour };
            if more.fires_an_hour > 0 {
                self.admit_one(tx, row.namespace_id, more).await?;
            }
            columns.fires_an_hour = Set(rate);
        }
        if revision.has_other_fires(works) {
            columns.fires_version = Set(version);
        }
        Ok(columns)
    }

    /// Moves the schedule's cursor to where the change takes effect.
    async fn move_cursor(
        &self,
        tx: &DatabaseTransaction,
        revision: &Revision<'_>,
        works: &Works,
        columns: &mut ActiveModel,
    ) -> Result<(), CommandError> {
        let Revision { row, facts: TimingFacts { timetable, .. }, now, .. } = revision;
        let begins_anew = revision.begins_anew(works);
        let moves = begins_anew || revision.was_spent();
        if moves {
            self.has_right_zones(tx).await?;
        }
        let cursor = row.next_scheduled_at;
        let until = match cursor.filter(|_| begins_anew && !revision.has_other_timing()) {
            Some(cursor) => cursor::due_until(timetable, cursor.utc(), *now),
            None => *now,
        };
        if begins_anew {
            // Accounts for the instants of the old version before the new version begins.
            let closing = Closing {
                schedule_id: row.id,
                is_paused: !row.enabled,
                prepared: revision.ended,
                ending: TimingEnd::Edited,
                until,
                now: *now,
            };
            closing::close(&self.store, &self.cache, tx, closing).await?;
        }
        if revision.is_spent() {
            cursor::ScheduleCursor::none().fill(columns);
        } else if moves {
            let begin = closing::begin(&self.store, tx, row.id, row.last_fire_at, *now).await?;
            let begin = if until < *now { until } else { begin };
            cursor::ScheduleCursor::after(timetable, begin).fill(columns);
        }
        Ok(())
    }
}

/// Refuses a maximum that has already been reached, because it would end the schedule by accident.
fn leaves_some(spec: &Spec, row: &Model) -> Result<(), BadInput> {
    let Some(max) = spec.max_fires.filter(|max| *max <= row.fire_count) else { return Ok(()) };
    let problem = format!("is not more than the {} fires that have started", row.fire_count);
    let help = "give a larger number; to end the schedule, pause or delete it";
    Err(BadInput::new("maxFires", max, problem, help))
}
