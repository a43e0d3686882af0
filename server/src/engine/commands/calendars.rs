//! Making, changing and deleting calendars.
//!
//! A change makes no new version of the schedules that name it: their timing is the same, and each
//! instant is judged by the calendar as it is when the instant is claimed. So previews and the
//! planner obey at once, and nothing that was decided is decided again.

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
    BadInput, Call, CommandError, Commands, Editor, Viewer, audit::Entry, check, suppression,
};
use crate::{
    engine::core::new_id,
    store::{Constraint, DatabaseTransaction, StoreError, calendars},
};

/// What a calendar is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalendarSpec {
    /// Unique among the namespace's calendars.
    pub name: String,
    /// What it does to fires.
    pub mode: Mode,
    /// What it names.
    pub entries: CalendarEntries,
}

/// A calendar to be made.
#[derive(Clone, Debug)]
pub struct NewCalendar {
    /// The tenant, by name.
    pub namespace: String,
    /// What it is.
    pub spec: CalendarSpec,
}

/// A change of a calendar: what it was made from, and how it is to be.
pub struct CalendarEdit {
    /// The calendar.
    pub id: Uuid,
    /// The version that the change was made from.
    pub expected_version: i32,
    /// Turns the calendar as it is into the one that is wanted.
    pub apply: Box<dyn FnOnce(&mut CalendarSpec) + Send>,
    /// Why, for the audit log.
    pub reason: Option<String>,
}

/// What became of a calendar.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedCalendar {
    /// The calendar.
    pub id: Uuid,
    /// Schedules of which it lets nothing through any more, by name: some of them, if there are
    /// many.
    pub silenced: Vec<String>,
}

/// So many of the schedules that name a calendar are looked at when it changes.
const LOOKED_AT: u64 = 200;

impl Commands {
    /// Makes a calendar.
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
        let namespace = self.namespace(&tx, &new.namespace).await?;
        let id = self.create_calendar_in(&tx, right.who(), namespace, &new.spec, None).await?;
        let saved = SavedCalendar { id, silenced: vec![] };
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        Ok(saved)
    }

    /// Changes a calendar, if it is still as the caller saw it.
    pub async fn update_calendar(
        &self,
        right: &Editor,
        edit: CalendarEdit,
        call: &Call,
    ) -> Result<SavedCalendar, CommandError> {
        if let Some(reason) = &edit.reason {
            check::text("reason", reason, 500)?;
        }
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let found = calendars::by_ids(&tx, &[edit.id]).await?.pop();
        let row = found.filter(|row| row.deleted_at.is_none());
        let row = row.ok_or_else(|| CommandError::not_found("calendar", edit.id))?;
        owned_by_people(&row)?;
        if row.version != edit.expected_version {
            return Err(stale(edit.expected_version, row.version));
        }
        let mut spec = spec_of(&row)?;
        (edit.apply)(&mut spec);
        let reason = edit.reason.as_deref();
        let (saved, _) = self.update_calendar_in(&tx, right.who(), &row, &spec, reason).await?;
        self.remember(&tx, right.who(), call, &saved).await?;
        self.store.commit(tx).await?;
        self.signals.wake_planner();
        Ok(saved)
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
        if let Some(reason) = reason {
            check::text("reason", reason, 500)?;
        }
        let tx = self.store.begin().await?;
        if let Some(earlier) = self.recall(&tx, right.who(), call).await? {
            return Ok(earlier);
        }
        let row = calendars::lock(&tx, id).await?;
        let row = row.ok_or_else(|| CommandError::not_found("calendar", id))?;
        owned_by_people(&row)?;
        if row.version != expected_version {
            return Err(stale(expected_version, row.version));
        }
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
        let entry = Entry {
            action: "calendar.create",
            namespace: Some(namespace),
            subject_id: Some(id),
            subject: &spec.name,
            after: Some(json!(spec)),
            ..Entry::default()
        };
        self.audit(tx, who, entry).await?;
        Ok(id)
    }

    /// Writes `spec` over the calendar, and says whether that changed anything.
    pub(super) async fn update_calendar_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        spec: &CalendarSpec,
        reason: Option<&str>,
    ) -> Result<(SavedCalendar, bool), CommandError> {
        spec.check()?;
        let mut saved = SavedCalendar { id: row.id, silenced: vec![] };
        let before = json!(spec_of(row)?);
        let after = json!(spec);
        if before == after {
            return Ok((saved, false));
        }
        // The schedules before the calendar, as whoever saves a schedule locks them.
        calendars::stamp_users(tx, self.store.dialect(), row).await?;
        let columns =
            ActiveModel { version: Set(row.version + 1), ..spec.columns(self.clock.now().into()) };
        let written = calendars::update_if_version(tx, row.id, row.version, columns).await;
        if !written.map_err(|error| name_taken(error, &spec.name))? {
            let there = calendars::by_ids(tx, &[row.id]).await?.pop();
            return Err(stale(row.version, there.map_or(row.version, |row| row.version)));
        }
        saved.silenced = self.silenced_by(tx, row).await?;
        let entry = Entry {
            action: "calendar.update",
            namespace: Some(row.namespace_id),
            subject_id: Some(row.id),
            subject: &spec.name,
            reason,
            before: Some(before),
            after: Some(after),
        };
        self.audit(tx, who, entry).await?;
        Ok((saved, true))
    }

    pub(super) async fn delete_calendar_in(
        &self,
        tx: &DatabaseTransaction,
        who: &Viewer,
        row: &Model,
        reason: Option<&str>,
    ) -> Result<(), CommandError> {
        const SHOWN: usize = 5;
        let users = calendars::users(tx, self.store.dialect(), row, SHOWN as u64 + 1).await?;
        if !users.is_empty() {
            let mut names: Vec<&str> =
                users.iter().take(SHOWN).map(|schedule| schedule.name.as_str()).collect();
            if users.len() > SHOWN {
                names.push("...");
            }
            let problem = format!("the calendar is named by {}", names.join(", "));
            return Err(CommandError::conflict(problem, "take it from these schedules first"));
        }
        calendars::delete(tx, row.id, self.clock.now().into()).await?;
        let entry = Entry {
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

    /// The schedules of which the calendar, as this transaction sees it, lets nothing through.
    async fn silenced_by(
        &self,
        tx: &DatabaseTransaction,
        row: &Model,
    ) -> Result<Vec<String>, CommandError> {
        let now = self.clock.now();
        let mut silenced = Vec::new();
        for schedule in calendars::users(tx, self.store.dialect(), row, LOOKED_AT).await? {
            // One whose timing cannot be read has another problem.
            let Ok(timetable) = self.timetable_of(tx, &schedule).await else { continue };
            if suppression::silences(&timetable, now) {
                silenced.push(schedule.name);
            }
        }
        Ok(silenced)
    }
}

impl CalendarSpec {
    fn check(&self) -> Result<(), BadInput> {
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

/// The calendar that a row holds.
pub(super) fn spec_of(row: &Model) -> Result<CalendarSpec, CommandError> {
    let entries = serde_json::from_value(row.definition.clone()).map_err(|source| {
        CommandError::Unreadable { what: format!("calendar {:?}", row.name), source }
    })?;
    Ok(CalendarSpec { name: row.name.clone(), mode: row.mode, entries })
}

fn shown(row: &Model) -> Result<Value, CommandError> {
    Ok(json!(spec_of(row)?))
}

fn stale(expected: i32, there: i32) -> CommandError {
    CommandError::Conflict {
        problem: format!("version {there} is there, the change was made from version {expected}"),
        help: "read the calendar again and repeat the change".to_owned(),
        versions: Some((expected, there)),
    }
}

/// Code owns what it declares.
fn owned_by_people(row: &Model) -> Result<(), CommandError> {
    match &row.module {
        None => Ok(()),
        Some(module) => Err(CommandError::conflict(
            format!("calendar {:?} is declared by the module {module:?}", row.name),
            "change the module's file and deploy it",
        )),
    }
}

fn name_taken(error: StoreError, name: &str) -> CommandError {
    let StoreError::Broken { constraint: Constraint::CalendarName } = error else {
        return error.into();
    };
    let help = "choose another name, or change that one";
    BadInput::new("name", name, "is the name of another calendar", help).into()
}
