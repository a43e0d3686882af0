//! A schedule's timetable, built before the transaction that needs it.
//!
//! A schedule may name eight calendars, each with two thousand entries and a hundred earlier
//! versions. To compile all of them takes up to a second, and SQLite has a single writer. So a
//! command reads them first and builds the timetable on a blocking thread. Its transaction compares
//! the definition and the versions of the calendars, and builds the timetable again only if one of
//! them has changed.

use entity::{Keys, Timestamp};
use sea_orm::ConnectionTrait;
use timetable::{Definition, Timetable, TimingError};
use uuid::Uuid;

use super::planner::definition;
use crate::{
    model::calendars::{self, StoredCalendars},
    store::{StoreError, calendars as rows, claims::DueSchedule},
};

/// What a schedule's timetable is built from.
#[derive(Debug)]
pub struct TimetableParts {
    definition: Definition,
    keys: Option<Keys>,
    since: Timestamp,
    calendars: StoredCalendars,
}

impl TimetableParts {
    /// Reads the calendars of a schedule, for instants from its cursor on.
    pub async fn read<C: ConnectionTrait>(
        connection: &C,
        schedule: &DueSchedule,
    ) -> Result<Self, StoreError> {
        let (keys, since) = (schedule.calendars.clone(), schedule.next_scheduled_at);
        let calendars = StoredCalendars::read(connection, keys.as_ref(), since).await?;
        Ok(Self { definition: definition(schedule), keys, since, calendars })
    }

    /// Builds the timetable. This may take a while if the schedule has calendars.
    ///
    /// # Errors
    ///
    /// The definition or one of the calendars cannot be read.
    pub fn build(self, timings: &timetable::Cache) -> Result<PreparedTimetable, TimingError> {
        let Self { definition, keys, since, calendars } = self;
        let plain = timings.timetable(&definition)?;
        let timetable = calendars::with(plain, keys.as_ref(), &calendars.compiled())?;
        let versions = calendars.versions();
        Ok(PreparedTimetable { definition, keys, since, versions, timetable })
    }
}

/// A schedule's timetable, and what it was built from.
#[derive(Debug)]
pub struct PreparedTimetable {
    definition: Definition,
    keys: Option<Keys>,
    /// The first instant for which the calendars have their earlier versions.
    since: Timestamp,
    /// The version of each calendar and since when it was in force, sorted by key.
    versions: Vec<(Uuid, i32, Timestamp)>,
    timetable: Timetable,
}

impl PreparedTimetable {
    /// The timetable as it was built.
    pub fn timetable(&self) -> &Timetable {
        &self.timetable
    }

    /// Whether the timetable is still that of the schedule, as `connection` sees its calendars.
    async fn is_of<C: ConnectionTrait>(
        &self,
        connection: &C,
        schedule: &DueSchedule,
    ) -> Result<bool, StoreError> {
        let is_same = self.keys == schedule.calendars
            && self.since <= schedule.next_scheduled_at
            && self.definition == definition(schedule);
        let Some(Keys(ids)) = self.keys.as_ref().filter(|_| is_same) else { return Ok(is_same) };
        let mut versions = rows::versions(connection, ids).await?;
        versions.sort_unstable_by_key(|(id, ..)| *id);
        Ok(versions == self.versions)
    }
}

/// A schedule's timetable inside a transaction, or the reason why it cannot be built: the prepared
/// one if that is still the schedule's.
pub(crate) async fn timetable<C: ConnectionTrait>(
    timings: &timetable::Cache,
    connection: &C,
    schedule: &DueSchedule,
    prepared: Option<&PreparedTimetable>,
) -> Result<Result<Timetable, TimingError>, StoreError> {
    if let Some(prepared) = prepared
        && prepared.is_of(connection, schedule).await?
    {
        return Ok(Ok(prepared.timetable.clone()));
    }
    if schedule.calendars.is_some() {
        tracing::debug!(schedule_id = %schedule.id, "works out a timing in a transaction");
    }
    let parts = TimetableParts::read(connection, schedule).await?;
    Ok(parts.build(timings).map(|built| built.timetable))
}
