//! Compiled calendars, by key and version: a calendar is compiled once, and one that was changed
//! is not taken for what it was. Only rows that are committed may be kept: a version that was taken
//! back is given again to another definition.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use entity::{Keys, calendar};
use sea_orm::ConnectionTrait;
use timetable::{Calendar, CalendarMode, Timetable, TimingError};
use uuid::Uuid;

use crate::store::{StoreError, calendars};

/// The calendars that were used lately.
#[derive(Debug, Default)]
pub struct Calendars {
    known: Mutex<HashMap<Uuid, (i32, Compiled)>>,
}

/// A calendar, or why it cannot be used.
type Compiled = Result<Arc<Calendar>, TimingError>;

/// Some calendars as they are now.
pub type Current = HashMap<Uuid, Compiled>;

/// So many are kept; then all are forgotten, which costs a few reads.
const KEPT: usize = 1_000;

impl Calendars {
    /// The calendars of `ids` as `connection` sees them: no statement for none, one for those that
    /// are known, two otherwise.
    pub async fn current<C: ConnectionTrait>(
        &self,
        connection: &C,
        ids: &HashSet<Uuid>,
    ) -> Result<Current, StoreError> {
        if ids.is_empty() {
            return Ok(Current::new());
        }
        let ids: Vec<Uuid> = ids.iter().copied().collect();
        let mut current = Current::new();
        for (id, version) in calendars::versions(connection, &ids).await? {
            if let Some(compiled) = self.known(id, version) {
                current.insert(id, compiled);
            }
        }
        let unknown: Vec<Uuid> = ids.into_iter().filter(|id| !current.contains_key(id)).collect();
        if !unknown.is_empty() {
            for row in calendars::by_ids(connection, &unknown).await? {
                current.insert(row.id, self.compiled(&row));
            }
        }
        Ok(current)
    }

    /// A row's calendar.
    pub fn compiled(&self, row: &calendar::Model) -> Compiled {
        if let Some(compiled) = self.known(row.id, row.version) {
            return compiled;
        }
        let compiled = compile(row);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(row.id, (row.version, compiled.clone()));
        compiled
    }

    fn known(&self, id: Uuid, version: i32) -> Option<Compiled> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&id).filter(|(known, _)| *known == version).map(|(_, compiled)| compiled.clone())
    }
}

/// The calendars of those keys as `connection` sees them, not kept.
pub async fn read<C: ConnectionTrait>(
    connection: &C,
    keys: Option<&Keys>,
) -> Result<Current, StoreError> {
    let Some(Keys(ids)) = keys else { return Ok(Current::new()) };
    let rows = calendars::by_ids(connection, ids).await?;
    Ok(rows.iter().map(|row| (row.id, compile(row))).collect())
}

/// The keys that any of some schedules names.
pub fn named<'a>(keys: impl Iterator<Item = &'a Option<Keys>>) -> HashSet<Uuid> {
    keys.flatten().flat_map(|keys| keys.0.iter().copied()).collect()
}

/// `timetable` with the calendars of those keys.
pub fn with(
    timetable: Timetable,
    keys: Option<&Keys>,
    current: &Current,
) -> Result<Timetable, TimingError> {
    let Some(keys) = keys else { return Ok(timetable) };
    let found = keys.0.iter().map(|id| match current.get(id) {
        Some(compiled) => compiled.clone(),
        None => Err(unusable(&id.to_string(), "it is gone")),
    });
    timetable.with_calendars(found.collect::<Result<Vec<_>, _>>()?)
}

/// A row's calendar, not kept: for rows that a transaction may yet take back.
pub fn compile(row: &calendar::Model) -> Compiled {
    let mode = match row.mode {
        calendar::Mode::Exclude => CalendarMode::Exclude,
        calendar::Mode::Only => CalendarMode::Only,
    };
    let entries = serde_json::from_value(row.definition.clone())
        .map_err(|error| unusable(&row.name, &format!("it cannot be read: {error}")))?;
    Calendar::new(&row.name, mode, &entries).map(Arc::new)
}

fn unusable(which: &str, problem: &str) -> TimingError {
    TimingError {
        field: "calendars".to_owned(),
        position: None,
        value: which.into(),
        problem: problem.to_owned(),
        help: "take it from the schedule, or save it again".to_owned(),
        never_fires: false,
    }
}
