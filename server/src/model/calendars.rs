//! Compiled calendars, by key and version: a calendar is compiled once, and again after it has
//! changed. Only committed rows may be cached, because the version number of a rolled-back change
//! is later used for another definition.
//!
//! A caller that needs past instants passes the earliest one as `since`, and gets calendars that
//! include their earlier versions: the version in force at an instant decides about it, however
//! late the instant is processed. If nothing has changed since then, which is nearly always the
//! case, this costs nothing.

mod cache;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use entity::{Keys, Timestamp, calendar, calendar_version};
use sea_orm::ConnectionTrait;
use timetable::{Calendar, CalendarMode, Timetable, TimingError};
use uuid::Uuid;

pub use self::cache::{CalendarLookup, Calendars};
use crate::store::{
    StoreError,
    calendars::{self, CalendarVersion},
};

/// A calendar, or why it cannot be used.
type Compiled = Result<Arc<Calendar>, TimingError>;

/// Compiled versions of calendars, by key and version.
pub type CompiledVersions = HashMap<(Uuid, i32), Compiled>;

/// The current calendars by their keys.
pub type CurrentCalendars = HashMap<Uuid, Compiled>;

/// The calendars with these keys as `connection` sees them, for instants from `since` on, without
/// the cache.
pub async fn read<C: ConnectionTrait>(
    connection: &C,
    keys: Option<&Keys>,
    since: Timestamp,
) -> Result<CurrentCalendars, StoreError> {
    Ok(StoredCalendars::read(connection, keys, since).await?.compiled())
}

/// Calendars as they are stored, with their earlier versions, not compiled yet: reading them takes
/// a connection, and compiling them takes time.
#[derive(Debug, Default)]
pub struct StoredCalendars {
    rows: Vec<calendar::Model>,
    past: PastVersions,
}

impl StoredCalendars {
    /// The calendars with these keys as `connection` sees them, for instants from `since` on.
    pub async fn read<C: ConnectionTrait>(
        connection: &C,
        keys: Option<&Keys>,
        since: Timestamp,
    ) -> Result<Self, StoreError> {
        let Some(Keys(ids)) = keys else { return Ok(Self::default()) };
        let rows = calendars::by_ids(connection, ids).await?;
        let changed = rows.iter().filter(|row| row.updated_at > since).map(|row| row.id);
        let past = past_since(connection, &changed.collect::<Vec<_>>(), since).await?;
        Ok(Self { rows, past })
    }

    /// Compiles the calendars, without the cache. Each of them and of their earlier versions may
    /// take a millisecond.
    pub fn compiled(&self) -> CurrentCalendars {
        let mut current = self.rows.iter().map(|row| (row.id, compile(row))).collect();
        add_past(&mut current, &self.past);
        current
    }

    /// Number of entries in all versions together: how long compiling takes depends on it.
    pub fn entries(&self) -> usize {
        let past = self.past.values().flatten().map(|row| &row.definition);
        let definitions = self.rows.iter().map(|row| &row.definition).chain(past);
        let lists =
            definitions.filter_map(|entries| entries.as_object()).flat_map(|it| it.values());
        lists.filter_map(|list| list.as_array()).map(Vec::len).sum()
    }

    /// The version of each calendar, sorted by the calendars' keys.
    pub fn versions(&self) -> Vec<CalendarVersion> {
        let version = |row: &calendar::Model| CalendarVersion {
            id: row.id,
            version: row.version,
            updated_at: row.updated_at,
        };
        let mut versions: Vec<_> = self.rows.iter().map(version).collect();
        versions.sort_unstable_by_key(|version| version.id);
        versions
    }
}

/// An instant later than any other, for callers that do not need past instants.
pub const NOW: Timestamp = Timestamp(i64::MAX);

/// The earlier versions of calendars, in order of version.
type PastVersions = HashMap<Uuid, Vec<calendar_version::Model>>;

/// The earlier versions of the calendars in `changed` that were in force at `since` or later.
async fn past_since<C: ConnectionTrait>(
    connection: &C,
    changed: &[Uuid],
    since: Timestamp,
) -> Result<PastVersions, StoreError> {
    let mut past = PastVersions::new();
    if changed.is_empty() {
        return Ok(past);
    }
    for row in calendars::past(connection, changed).await? {
        let rows = past.entry(row.calendar_id).or_default();
        if row.ended_at > since {
            rows.push(row);
        } else {
            // Neither the calendar nor its earlier versions are in force at any of these instants.
            rows.clear();
        }
    }
    Ok(past)
}

/// Adds their earlier versions to these calendars.
fn add_past(current: &mut CurrentCalendars, past: &PastVersions) {
    for (id, rows) in past {
        let Some(Ok(calendar)) = current.get(id).filter(|_| !rows.is_empty()) else { continue };
        let was = |row: &calendar_version::Model| {
            let was = of_definition(calendar.name(), row.mode, &row.definition)?;
            Ok((row.ended_at.utc(), was))
        };
        let was: Result<Vec<_>, TimingError> = rows.iter().map(was).collect();
        let with_past = was.map(|was| Arc::new(calendar.with_past(was)));
        current.insert(*id, with_past);
    }
}

/// The keys that any of the given schedules names.
pub fn named<'a>(keys: impl Iterator<Item = &'a Option<Keys>>) -> HashSet<Uuid> {
    keys.flatten().flat_map(|keys| keys.0.iter().copied()).collect()
}

/// Adds the calendars with these keys to `timetable`.
pub fn with(
    timetable: Timetable,
    keys: Option<&Keys>,
    current: &CurrentCalendars,
) -> Result<Timetable, TimingError> {
    let Some(keys) = keys else { return Ok(timetable) };
    let found = keys.0.iter().map(|id| match current.get(id) {
        Some(compiled) => compiled.clone(),
        None => Err(unusable(&id.to_string(), "it is gone")),
    });
    timetable.with_calendars(found.collect::<Result<Vec<_>, _>>()?)
}

/// The calendar of a row, without the cache, because the row's transaction may still be rolled
/// back.
pub fn compile(row: &calendar::Model) -> Compiled {
    of_definition(&row.name, row.mode, &row.definition)
}

/// The calendar of a stored definition, not cached.
pub fn of_definition(name: &str, mode: calendar::Mode, definition: &serde_json::Value) -> Compiled {
    let mode = match mode {
        calendar::Mode::Exclude => CalendarMode::Exclude,
        calendar::Mode::Only => CalendarMode::Only,
    };
    let entries = serde_json::from_value(definition.clone())
        .map_err(|error| unusable(name, &format!("it cannot be read: {error}")))?;
    Calendar::new(name, mode, &entries).map(Arc::new)
}

fn unusable(which: &str, problem: &str) -> TimingError {
    TimingError {
        field: "calendars".to_owned(),
        position: None,
        value: which.into(),
        problem: problem.to_owned(),
        help: "remove it from the schedule, or save it again".to_owned(),
        never_fires: false,
    }
}
