//! A cache of compiled calendars.
//!
//! A transaction looks calendars up in it by their versions, without reading what they consist of.
//! What the look-up does not find is read and compiled when the transaction is over, and then looked
//! up again: see the planner's claims.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use entity::{Keys, Timestamp, calendar};
use sea_orm::ConnectionTrait;
use uuid::Uuid;

use super::{
    Compiled, CompiledVersions, CurrentCalendars, StoredCalendars, compile, of_definition,
};
use crate::store::{
    StoreError,
    calendars::{self, CalendarVersion, EndedVersion},
};

/// A cache of recently used calendars, and of their earlier versions.
#[derive(Debug, Default)]
pub struct Calendars {
    known: Mutex<CompiledVersions>,
}

/// Maximum number of versions. Beyond it all are dropped, which only costs a few reads.
const KEPT: usize = 1_000;

/// Calendars as a transaction sees them, as far as they are compiled.
#[derive(Debug, Default)]
pub struct CalendarLookup {
    /// The compiled calendars by their keys.
    pub current: CurrentCalendars,
    /// The keys of those of which any version that matters is not compiled yet.
    pub unknown: HashSet<Uuid>,
}

/// The earlier versions of a calendar, in order, each with its end.
type Ends = Vec<(i32, Timestamp)>;

impl Calendars {
    /// The calendars of `ids` as `connection` sees them, for instants from `since` on. Compiles
    /// those that are not cached, so it must not be called while holding a transaction.
    pub async fn current<C: ConnectionTrait>(
        &self,
        connection: &C,
        ids: &HashSet<Uuid>,
        since: Timestamp,
    ) -> Result<CurrentCalendars, StoreError> {
        let since = ids.iter().map(|id| (*id, since)).collect();
        let found = self.look_up(connection, &since, &mut CompiledVersions::new()).await?;
        self.complete(connection, found, &since).await
    }

    /// The calendars whose keys `since` has, as `connection` sees them, each for instants from its
    /// value on. Versions that are found are added to `held`, so that a second look-up finds them
    /// again even if the cache has dropped them. This takes no statement if there are no keys, one
    /// otherwise, and one more if any calendar has changed since then.
    pub async fn look_up<C: ConnectionTrait>(
        &self,
        connection: &C,
        since: &HashMap<Uuid, Timestamp>,
        held: &mut CompiledVersions,
    ) -> Result<CalendarLookup, StoreError> {
        let mut found = CalendarLookup::default();
        if since.is_empty() {
            return Ok(found);
        }
        let ids: Vec<Uuid> = since.keys().copied().collect();
        let versions = calendars::versions(connection, &ids).await?;
        let mut past = past_of(connection, &versions, since).await?;
        for CalendarVersion { id, version, .. } in versions {
            let past = past.remove(&id).unwrap_or_default();
            match self.assembled(id, version, &past, held) {
                Some(compiled) => {
                    found.current.insert(id, compiled);
                }
                None => {
                    found.unknown.insert(id);
                }
            }
        }
        Ok(found)
    }

    /// All calendars of a look-up: reads and compiles those that it did not find.
    pub async fn complete<C: ConnectionTrait>(
        &self,
        connection: &C,
        CalendarLookup { mut current, unknown }: CalendarLookup,
        since: &HashMap<Uuid, Timestamp>,
    ) -> Result<CurrentCalendars, StoreError> {
        if unknown.is_empty() {
            return Ok(current);
        }
        let stored = StoredCalendars::read_since(connection, unknown, since).await?;
        current.extend(self.of_stored(&stored));
        Ok(current)
    }

    /// Stored calendars, compiled unless they are cached. Only committed rows may be given.
    pub fn of_stored(&self, stored: &StoredCalendars) -> CurrentCalendars {
        let mut held = self.versions_of(stored);
        let calendar = |row: &calendar::Model| {
            let past = stored.past.get(&row.id).into_iter().flatten();
            let past: Ends = past.map(|past| (past.version, past.ended_at)).collect();
            Some((row.id, self.assembled(row.id, row.version, &past, &mut held)?))
        };
        stored.rows.iter().filter_map(calendar).collect()
    }

    /// Each version of stored calendars, compiled unless it is cached. Each may take a millisecond.
    /// Only committed rows may be given.
    pub fn versions_of(&self, stored: &StoredCalendars) -> CompiledVersions {
        let mut all = CompiledVersions::new();
        for row in &stored.rows {
            all.insert((row.id, row.version), self.compiled(row));
            for past in stored.past.get(&row.id).into_iter().flatten() {
                let key = (row.id, past.version);
                let compile = || of_definition(&row.name, past.mode, &past.definition);
                all.insert(key, self.known_or(key, compile));
            }
        }
        all
    }

    /// A row's calendar.
    pub fn compiled(&self, row: &calendar::Model) -> Compiled {
        self.known_or((row.id, row.version), || compile(row))
    }

    /// A calendar with its earlier versions; `None` if one of them is neither held nor cached.
    fn assembled(
        &self,
        id: Uuid,
        version: i32,
        past: &[(i32, Timestamp)],
        held: &mut CompiledVersions,
    ) -> Option<Compiled> {
        let calendar = match self.find((id, version), held)? {
            Ok(calendar) if !past.is_empty() => calendar,
            alone @ (Ok(_) | Err(_)) => return Some(alone),
        };
        let mut was = Vec::with_capacity(past.len());
        for (version, ended_at) in past {
            match self.find((id, *version), held)? {
                Ok(compiled) => was.push((ended_at.utc(), compiled)),
                unusable @ Err(_) => return Some(unusable),
            }
        }
        Some(Ok(Arc::new(calendar.with_past(was))))
    }

    fn find(&self, key: (Uuid, i32), held: &mut CompiledVersions) -> Option<Compiled> {
        if let Some(compiled) = held.get(&key) {
            return Some(compiled.clone());
        }
        let compiled = self.known(key)?;
        held.insert(key, compiled.clone());
        Some(compiled)
    }

    fn known(&self, key: (Uuid, i32)) -> Option<Compiled> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&key).cloned()
    }

    fn known_or(&self, key: (Uuid, i32), compile: impl FnOnce() -> Compiled) -> Compiled {
        if let Some(compiled) = self.known(key) {
            return compiled;
        }
        let compiled = compile();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(key, compiled.clone());
        compiled
    }
}

/// The earlier versions of those calendars that have changed since their instant in `since`, as far
/// as they were in force then or later.
async fn past_of<C: ConnectionTrait>(
    connection: &C,
    versions: &[CalendarVersion],
    since: &HashMap<Uuid, Timestamp>,
) -> Result<HashMap<Uuid, Ends>, StoreError> {
    let is_after = |id: &Uuid, at: Timestamp| since.get(id).is_some_and(|since| at > *since);
    let changed = versions.iter().filter(|current| is_after(&current.id, current.updated_at));
    let changed: Vec<Uuid> = changed.map(|current| current.id).collect();
    let mut past = HashMap::new();
    if changed.is_empty() {
        return Ok(past);
    }
    for ended in calendars::past_versions(connection, &changed).await? {
        let EndedVersion { calendar_id, version, ended_at } = ended;
        let ends: &mut Ends = past.entry(calendar_id).or_default();
        if is_after(&calendar_id, ended_at) {
            ends.push((version, ended_at));
        } else {
            // Neither this version nor an earlier one is in force at any of these instants.
            ends.clear();
        }
    }
    Ok(past)
}

impl StoredCalendars {
    /// The calendars with these keys as `connection` sees them, for instants from the first of
    /// their values in `since` on.
    pub async fn read_since<C: ConnectionTrait>(
        connection: &C,
        ids: impl IntoIterator<Item = Uuid>,
        since: &HashMap<Uuid, Timestamp>,
    ) -> Result<Self, StoreError> {
        let keys = Keys(ids.into_iter().collect());
        let first = keys.0.iter().filter_map(|id| since.get(id)).min();
        Self::read(connection, Some(&keys), first.copied().unwrap_or(super::NOW)).await
    }
}
