//! Creating, changing and deleting calendars.
//!
//! A change does not create new versions of the schedules that name the calendar: their timing
//! stays the same, and the calendar in force at an instant decides about it, however late the
//! instant is processed. So previews and the planner follow the change at once, fires that are due
//! and not claimed yet need no work, and no decision is made twice.
//!
//! Subscribers that watch these schedules are notified after the commit, in steps. So the change
//! itself writes no more for ten thousand schedules than for one.
//!
//! - `silence`: schedules that would never fire again

pub(super) mod silence;

use entity::{
    Timestamp,
    calendar::{ActiveModel, Mode, Model},
};
use sea_orm::Set;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use timetable::CalendarEntries;
use uuid::Uuid;

use super::{
    BadInput, Call, CommandError, Commands, audit::AuditEntry, calendars::silence::ForeseenEffect,
    stored, versions,
};
use crate::{
    access::{Editor, Viewer},
    model::check,
    random::new_id,
    store::{Constraint, DatabaseTransaction, StoreError, calendars, schedules},
};

/// The definition of a calendar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalendarSpec {
    /// Unique among the namespace's calendars.
    pub name: String,
    /// Whether the calendar suppresses the named times or all others.
    pub mode: Mode,
    /// The times that the calendar names.
    pub entries: CalendarEntries,
}

/// A calendar to create.
#[derive(Clone, Debug)]
pub struct NewCalendar {
    /// The namespace, by name.
    pub namespace: String,
    /// The calendar's definition.
    pub spec: CalendarSpec,
}

/// Turns the current calendar into the requested one.
type Redraw = Box<dyn FnOnce(&mut CalendarSpec) + Send>;

/// A change of a calendar: the version that it is based on, and how to apply it.
pub struct CalendarEdit {
    /// The calendar.
    pub id: Uuid,
    /// The version that the change is based on.
    pub expected_version: i32,
    /// Turns the current calendar into the requested one.
    pub apply: Redraw,
    /// The reason, for the audit log.
    pub reason: Option<String>,
}

/// A calendar after a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedCalendar {
    /// The calendar.
    pub id: Uuid,
}

/// Maximum number of affected schedules that an error names.
const SHOWN: usize = 5;

/// Maximum number of schedules marked as changed in one transaction.
const STEP: u64 = 500;

impl Commands {
    /// Creates a calendar.
    pub async fn create_calendar(
        &self,
        right: &Editor,
        new: NewCalendar,
        call: &Call,
    ) -> Result<SavedCalendar, CommandError> {
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let namespace = self.namespace(&tx, right.permit(), &new.namespace).await?;
        let id = self.create_calendar_in(&tx, right.who(), namespace, &new.spec, None).await?;
        let saved = SavedCalendar { id };
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        Ok(saved)
    }

    /// Changes a calendar, if it is still in the version that the caller saw.
    pub async fn update_calendar(
        &self,
        right: &Editor,
        edit: CalendarEdit,
        call: &Call,
    ) -> Result<SavedCalendar, CommandError> {
        let CalendarEdit { id, expected_version, apply, reason } = edit;
        check::optional_reason(reason.as_deref())?;
        let mut apply = Some(apply);
        let planned = self.plan_edit(right, id, expected_version, &mut apply).await?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let found = calendars::by_ids(&tx, &[id]).await?.pop();
        let row = found.filter(|row| row.deleted_at.is_none());
        let row = row.ok_or_else(|| CommandError::not_found("calendar", id))?;
        right.permit().over(row.namespace_id, "calendar", row.id)?;
        versions::owned_by_people("calendar", &row.name, row.module.as_deref())?;
        versions::version("calendar", expected_version, row.version)?;
        let (spec, foreseen) = if let Some(planned) = planned {
            planned
        } else {
            let mut spec = spec_of(&row)?;
            if let Some(apply) = apply {
                apply(&mut spec);
            }
            (spec, None)
        };
        let reason = reason.as_deref();
        let is_other = self.update_calendar_in(&tx, right.who(), &row, &spec, reason).await?;
        if is_other {
            let (before, foreseen) = (std::slice::from_ref(&row), foreseen.as_ref());
            let silenced = self.silenced_by(&tx, &row, before, foreseen).await?;
            if !silenced.is_empty() {
                return Err(silences(&silenced));
            }
        }
        let saved = SavedCalendar { id: row.id };
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        self.signals.wake_planner();
        if is_other {
            self.tell_users_of(&row).await;
        }
        Ok(saved)
    }

    /// The calendar after an edit, and the effect on the schedules that name it, computed before
    /// the transaction. `None` if the version is outdated or the caller may not change the
    /// calendar: the transaction reports that.
    async fn plan_edit(
        &self,
        right: &Editor,
        id: Uuid,
        version: i32,
        apply: &mut Option<Redraw>,
    ) -> Result<Option<(CalendarSpec, Option<ForeseenEffect>)>, CommandError> {
        let found = calendars::by_ids(self.store.read(), &[id]).await?.pop();
        let is_it = |row: &Model| {
            row.deleted_at.is_none()
                && row.version == version
                && row.module.is_none()
                && right.permit().over(row.namespace_id, "calendar", row.id).is_ok()
        };
        let Some(row) = found.filter(is_it) else { return Ok(None) };
        let Ok(was) = spec_of(&row) else { return Ok(None) };
        let Some(apply) = apply.take() else { return Ok(None) };
        let mut spec = was.clone();
        apply(&mut spec);
        if spec == was {
            return Ok(Some((spec, None)));
        }
        let namespace = row.namespace_id;
        let foreseen = self.foresee(namespace, &[(row, spec.clone())]).await?;
        Ok(Some((spec, foreseen)))
    }

    /// Notifies subscribers that watch the schedules that name the calendar. Nothing else depends
    /// on it: if it fails, the subscribers see the change with the next event of the schedule.
    pub(super) async fn tell_users_of(&self, row: &Model) {
        if let Err(error) = self.stamp_users_of(row).await {
            tracing::warn!(calendar = row.name, %error, "failed to announce a changed calendar");
        }
    }

    async fn stamp_users_of(&self, row: &Model) -> Result<(), StoreError> {
        let (store, mut last) = (&self.store, None);
        loop {
            let read = store.read();
            let keys = calendars::keys_of_users(read, store.dialect(), row, last, STEP).await?;
            let Some(behind) = keys.last().copied() else { return Ok(()) };
            let tx = store.begin().await?;
            schedules::stamp(&tx, store.dialect(), &keys).await?;
            store.commit(tx).await?;
            last = Some(behind);
        }
    }

    /// Deletes a calendar that no schedule names.
    pub async fn delete_calendar(
        &self,
        right: &Editor,
        id: Uuid,
        expected_version: i32,
        reason: Option<&str>,
        call: &Call,
    ) -> Result<Uuid, CommandError> {
        check::optional_reason(reason)?;
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = calendars::lock(&tx, id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("calendar", id))?;
        right.permit().over(row.namespace_id, "calendar", id)?;
        versions::owned_by_people("calendar", &row.name, row.module.as_deref())?;
        versions::version("calendar", expected_version, row.version)?;
        self.delete_calendar_in(&tx, right.who(), &row, reason).await?;
        self.remember(&tx, right.who(), call, &id).await?;
        self.store.commit(tx).await?;
        Ok(id)
    }

    pub(super) async fn create_calendar_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        namespace: Uuid,
        spec: &CalendarSpec,
        module: Option<&str>,
    ) -> Result<Uuid, CommandError> {
        spec.check()?;
        let now = self.clock.now();
        let id = new_id(now);
        let row = ActiveModel {
            id: Set(id),
            namespace_id: Set(namespace),
            version: Set(1),
            module: Set(module.map(str::to_owned)),
            created_at: Set(now.into()),
            ..spec.columns(now.into())
        };
        calendars::insert(tx, row).await.map_err(|error| name_taken(error, &spec.name))?;
        let entry = AuditEntry {
            action: "calendar.create",
            namespace: Some(namespace),
            subject_id: Some(id),
            subject: &spec.name,
            after: Some(json!(spec)),
            ..AuditEntry::default()
        };
        self.audit(tx, who, entry).await?;
        Ok(id)
    }

    /// Writes `spec` to the calendar; returns whether anything changed. The caller must then check
    /// whether the calendar silences a schedule.
    pub(super) async fn update_calendar_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        spec: &CalendarSpec,
        reason: Option<&str>,
    ) -> Result<bool, CommandError> {
        spec.check()?;
        let before = json!(spec_of(row)?);
        let after = json!(spec);
        if before == after {
            return Ok(false);
        }
        let now = Timestamp::from(self.clock.now());
        let columns = ActiveModel { version: Set(row.version + 1), ..spec.columns(now) };
        let written = calendars::update_if_version(tx, row.id, row.version, columns).await;
        if !written.map_err(|error| name_taken(error, &spec.name))? {
            let there = calendars::by_ids(tx, &[row.id]).await?.pop();
            let there = there.map_or(row.version, |row| row.version);
            return Err(versions::stale("calendar", row.version, there));
        }
        calendars::keep_version(tx, row, now).await?;
        let entry = AuditEntry {
            action: "calendar.update",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &spec.name,
            reason,
            before: Some(before),
            after: Some(after),
        };
        self.audit(tx, who, entry).await?;
        Ok(true)
    }

    pub(super) async fn delete_calendar_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        let users = calendars::users(tx, self.store.dialect(), row, None, SHOWN as u64 + 1).await?;
        if !users.is_empty() {
            let names: Vec<String> = users.into_iter().map(|schedule| schedule.name).collect();
            let problem = format!("the calendar is named by {}", some_of(&names));
            return Err(CommandError::conflict(problem, "remove it from these schedules first"));
        }
        calendars::delete(tx, row.id, self.clock.now().into()).await?;
        let entry = AuditEntry {
            action: "calendar.delete",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &row.name,
            reason,
            before: Some(shown(row)?),
            after: None,
        };
        Ok(self.audit(tx, who, entry).await?)
    }
}

impl CalendarSpec {
    /// Checks the name and the entries.
    pub(super) fn check(&self) -> Result<(), BadInput> {
        check::name("name", &self.name)?;
        let mode = match self.mode {
            Mode::Exclude => timetable::CalendarMode::Exclude,
            Mode::Only => timetable::CalendarMode::Only,
        };
        let compiled = timetable::Calendar::new(&self.name, mode, &self.entries);
        compiled.map(|_| ()).map_err(BadInput::of_calendars)
    }

    fn columns(&self, now: Timestamp) -> ActiveModel {
        ActiveModel {
            name: Set(self.name.clone()),
            mode: Set(self.mode),
            definition: Set(json!(self.entries)),
            updated_at: Set(now),
            ..ActiveModel::default()
        }
    }
}

/// Parses the calendar of a row.
pub(super) fn spec_of(row: &Model) -> Result<CalendarSpec, CommandError> {
    let entries = stored::read(row.definition.clone(), || format!("calendar {:?}", row.name))?;
    Ok(CalendarSpec { name: row.name.clone(), mode: row.mode, entries })
}

fn shown(row: &Model) -> Result<Value, CommandError> {
    Ok(json!(spec_of(row)?))
}

/// The refusal of a change that makes the calendars of these schedules suppress every fire.
fn silences(names: &[String]) -> CommandError {
    CommandError::conflict(
        format!("the calendar would suppress every fire of {}", some_of(names)),
        "leave a time at which they fire, or remove the calendar from these schedules first",
    )
}

/// The first of some names, for an error.
pub(super) fn some_of(names: &[String]) -> String {
    let mut shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        shown.push_str(", ...");
    }
    shown
}

fn name_taken(error: StoreError, name: &str) -> CommandError {
    let StoreError::Broken { constraint: Constraint::CalendarName } = error else {
        return error.into();
    };
    let help = "choose another name, or change that one";
    BadInput::new("name", name, "is the name of another calendar", help).into()
}
