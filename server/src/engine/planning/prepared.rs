//! A schedule's timetable, built before the transaction that needs it.
//!
//! A schedule may name eight calendars, each with two thousand entries and a hundred earlier
//! versions. To compile all of them takes up to a second, and SQLite has a single writer. So a
//! command reads them first and builds the timetable on a blocking thread. Its transaction compares
//! the definition and the versions of the calendars, and builds the timetable again only if one of
//! them has changed. The planner does the same before it ends pauses.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use entity::{Keys, Timestamp};
use sea_orm::ConnectionTrait;
use timetable::{Definition, Timetable, TimingError};
use uuid::Uuid;

use super::planner::definition;
use crate::{
    engine::{EngineError, core::Core},
    model::calendars::{self, Calendars, CurrentCalendars, StoredCalendars},
    store::{
        StoreError,
        calendars::{self as rows, CalendarVersion},
        claims::DueSchedule,
    },
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
        let compiled = self.calendars.compiled();
        self.build_with(timings, &compiled)
    }

    /// Builds the timetable, and compiles only those calendars that are not cached.
    fn build_cached(
        self,
        timings: &timetable::Cache,
        cache: &Calendars,
    ) -> Result<PreparedTimetable, TimingError> {
        let compiled = cache.of_stored(&self.calendars);
        self.build_with(timings, &compiled)
    }

    fn build_with(
        self,
        timings: &timetable::Cache,
        compiled: &CurrentCalendars,
    ) -> Result<PreparedTimetable, TimingError> {
        let Self { definition, keys, since, calendars } = self;
        let plain = timings.timetable(&definition)?;
        let timetable = calendars::with(plain, keys.as_ref(), compiled)?;
        let versions = Some(calendars.versions());
        Ok(PreparedTimetable { definition, keys, since, versions, timetable })
    }
}

/// What the timetables of several schedules are built from. Each calendar is read and compiled
/// once.
#[derive(Debug)]
pub(crate) struct ManyTimetableParts {
    schedules: Vec<DueSchedule>,
    since: Timestamp,
    calendars: StoredCalendars,
}

impl ManyTimetableParts {
    /// Reads the calendars of the schedules, for instants from the first cursor on.
    pub(crate) async fn read<C: ConnectionTrait>(
        connection: &C,
        schedules: Vec<DueSchedule>,
    ) -> Result<Self, StoreError> {
        let named = calendars::named(schedules.iter().map(|schedule| &schedule.calendars));
        let keys = (!named.is_empty()).then(|| Keys(named.into_iter().collect()));
        let since = schedules.iter().map(|schedule| schedule.next_scheduled_at).min();
        let since = since.unwrap_or(calendars::NOW);
        let calendars = StoredCalendars::read(connection, keys.as_ref(), since).await?;
        Ok(Self { schedules, since, calendars })
    }

    /// Builds those timetables that can be built, by the keys of their schedules.
    pub(crate) fn build(self, timings: &timetable::Cache) -> HashMap<Uuid, PreparedTimetable> {
        let Self { schedules, since, calendars } = self;
        let (compiled, all) = (calendars.compiled(), calendars.versions());
        let built = schedules.into_iter().filter_map(|schedule| {
            let (id, definition, keys) = (schedule.id, definition(&schedule), schedule.calendars);
            let plain = timings.timetable(&definition).ok()?;
            let timetable = calendars::with(plain, keys.as_ref(), &compiled).ok()?;
            let has = |id: &Uuid| keys.as_ref().is_some_and(|Keys(keys)| keys.contains(id));
            let versions = Some(all.iter().filter(|one| has(&one.id)).copied().collect());
            Some((id, PreparedTimetable { definition, keys, since, versions, timetable }))
        });
        built.collect()
    }
}

/// Drops those timetables whose calendars have changed since they were built, as a transaction sees
/// them before it changes calendars itself. Such a change takes effect after all instants that the
/// transaction accounts for, so the calendars of the others are not compared again.
pub(crate) async fn compare<C: ConnectionTrait>(
    connection: &C,
    prepared: &mut HashMap<Uuid, PreparedTimetable>,
) -> Result<(), StoreError> {
    let keys = prepared.values().filter_map(|one| one.keys.as_ref());
    let keys: HashSet<Uuid> = keys.flat_map(|Keys(keys)| keys.iter().copied()).collect();
    if keys.is_empty() {
        return Ok(());
    }
    let keys: Vec<Uuid> = keys.into_iter().collect();
    let current: HashSet<_> = rows::versions(connection, &keys).await?.into_iter().collect();
    prepared.retain(|_, one| {
        let versions = one.versions.take().unwrap_or_default();
        versions.iter().all(|version| current.contains(version))
    });
    Ok(())
}

/// A schedule's timetable, and what it was built from.
#[derive(Debug)]
pub struct PreparedTimetable {
    definition: Definition,
    keys: Option<Keys>,
    /// The first instant for which the calendars have their earlier versions.
    since: Timestamp,
    /// The version of each calendar, sorted by the calendars' keys; `None` once the transaction has
    /// compared them.
    versions: Option<Vec<CalendarVersion>>,
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
        let (Some(Keys(ids)), Some(known), true) = (&self.keys, &self.versions, is_same) else {
            return Ok(is_same);
        };
        let mut versions = rows::versions(connection, ids).await?;
        versions.sort_unstable_by_key(|version| version.id);
        Ok(versions == *known)
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

/// The timetables of schedules with calendars, as far as there was time to build them.
#[derive(Debug, Default)]
pub(super) struct BuiltInTurn {
    /// Those that can be built, by the keys of their schedules.
    pub(super) timetables: HashMap<Uuid, PreparedTimetable>,
    /// The schedules for which there was no time.
    pub(super) left: HashSet<Uuid>,
}

/// Builds the timetables of those of the schedules that have calendars, in the given order, until
/// `limit` has passed: at least one. Must not be called while holding a transaction.
pub(super) async fn build_in_turn(
    core: &Core,
    schedules: &[Uuid],
    limit: Duration,
) -> Result<BuiltInTurn, EngineError> {
    let read = core.store.read();
    let found = core.store.schedules_with_cursor(read, schedules).await?;
    let dated = found.into_iter().filter(|schedule| schedule.calendars.is_some());
    let mut dated: HashMap<_, _> = dated.map(|schedule| (schedule.id, schedule)).collect();
    let (mut turn, mut is_first, began) = (BuiltInTurn::default(), true, core.clock.instant());
    for id in schedules {
        let Some(schedule) = dated.remove(id) else { continue };
        if !is_first && core.clock.instant().saturating_duration_since(began) >= limit {
            turn.left.insert(*id);
            continue;
        }
        is_first = false;
        let parts = TimetableParts::read(read, &schedule).await?;
        let (timings, cache) = (core.timings.clone(), core.calendars.clone());
        let entries = parts.calendars.entries();
        // The transaction reports why a timetable cannot be built.
        if let Some(Ok(built)) =
            compile(entries, move || parts.build_cached(&timings, &cache)).await
        {
            turn.timetables.insert(*id, built);
        }
    }
    Ok(turn)
}

/// Number of entries that are compiled without a thread of their own, in about half a millisecond.
const FEW: usize = 1_000;

/// Compiles calendars that have this many entries, on a blocking thread if these are not few.
/// `None` if the thread has failed.
pub(super) async fn compile<T: Send + 'static>(
    entries: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if entries <= FEW {
        return Some(work());
    }
    tokio::task::spawn_blocking(work).await.ok()
}
