//! Timings that are worked out before a transaction begins.
//!
//! Compiling calendars, searching for a time that they allow and looking for likely mistakes may
//! take milliseconds for each schedule, and SQLite has a single writer that the engine shares. So a
//! request works all of that out first: on a blocking thread if it is for many schedules or for one
//! with calendars. Its transaction compares what it was worked out from, the definition and the
//! calendars, with what counts then, and works out again only what differs.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, OnceLock},
};

use chrono::{DateTime, Utc};
use entity::{Keys, calendar, schedule};
use timetable::{Calendar, Definition, Timetable, TimingError, Warning};
use uuid::Uuid;

use super::{create::NewIdentity, cursor, suppression};
use crate::{
    commands::{CommandError, Commands, quotas::fires_an_hour},
    model::{calendars as compiled, spec::Spec},
    store::{DatabaseTransaction, calendars},
};

/// How many timings are worked out before others of the namespace get a turn.
const CHUNK: usize = 50;

/// A timing, and what saving a schedule needs to know about it.
#[derive(Clone, Debug)]
pub(in crate::commands) struct TimingFacts {
    pub(in crate::commands) timetable: Timetable,
    /// See `entity::schedule`.
    pub(in crate::commands) fires_an_hour: i64,
    /// Whether its calendars suppress all of its fires.
    pub(in crate::commands) is_silenced: bool,
    /// Likely mistakes.
    pub(in crate::commands) warnings: Vec<Warning>,
}

impl TimingFacts {
    /// The facts as of `now`.
    pub(in crate::commands) fn of(timetable: Timetable, now: DateTime<Utc>) -> Self {
        Self {
            fires_an_hour: fires_an_hour(&timetable, now),
            is_silenced: suppression::silences(&timetable, now),
            warnings: cursor::warnings(&timetable, now),
            timetable,
        }
    }
}

/// A calendar as it is, or as the request is about to store it.
#[derive(Debug)]
pub(in crate::commands) struct ForeseenCalendar {
    name: String,
    mode: calendar::Mode,
    definition: serde_json::Value,
    compiled: OnceLock<Result<Arc<Calendar>, TimingError>>,
    /// The key of its row, once the request's transaction has locked the row and found it equal.
    held: OnceLock<Uuid>,
}

impl ForeseenCalendar {
    pub(in crate::commands) fn new(
        name: String,
        mode: calendar::Mode,
        definition: serde_json::Value,
    ) -> Self {
        Self { name, mode, definition, compiled: OnceLock::new(), held: OnceLock::new() }
    }

    fn compiled(&self) -> Result<Arc<Calendar>, TimingError> {
        let compile = || compiled::of_definition(&self.name, self.mode, &self.definition);
        self.compiled.get_or_init(compile).clone()
    }

    /// Records a locked row, if the calendar is still the same.
    fn hold(&self, row: &calendar::Model) {
        if self.name == row.name && self.mode == row.mode && self.definition == row.definition {
            self.held.get_or_init(|| row.id);
        }
    }
}

/// The calendars of one request in a namespace, by name.
pub(in crate::commands) type ForeseenCalendars = HashMap<String, Arc<ForeseenCalendar>>;

/// A timing that is to be worked out.
#[derive(Debug)]
pub(in crate::commands) struct PlannedTiming {
    begin: Option<NewIdentity>,
    definition: Definition,
    calendars: Vec<Arc<ForeseenCalendar>>,
}

impl PlannedTiming {
    /// The timing of a new schedule with the identity `begin`, or of an existing one. `None` if it
    /// names an unknown calendar, or a calendar twice; the transaction reports that.
    pub(in crate::commands) fn new(
        begin: Option<NewIdentity>,
        definition: Definition,
        names: &[String],
        known: &ForeseenCalendars,
    ) -> Option<Self> {
        let mut distinct: HashSet<&String> = HashSet::with_capacity(names.len());
        let calendars = names.iter().map(|name| {
            let found = known.get(name).cloned();
            found.filter(|_| distinct.insert(name))
        });
        let calendars = calendars.collect::<Option<Vec<_>>>()?;
        Some(Self { begin, definition, calendars })
    }

    /// Compiles the timing. `None` if it is refused; the transaction reports that.
    fn worked_out(self, cache: &timetable::Cache, now: DateTime<Utc>) -> Option<ForeseenTiming> {
        let plain = cache.timetable(&self.definition).ok()?;
        let compiled = self.calendars.iter().map(|calendar| calendar.compiled());
        let compiled = compiled.collect::<Result<Vec<_>, _>>().ok()?;
        let facts = TimingFacts::of(plain.with_calendars(compiled).ok()?, now);
        let Self { begin, definition, calendars } = self;
        Some(ForeseenTiming { begin, definition, calendars, facts })
    }
}

/// The facts about a timing, and what they were worked out from.
#[derive(Debug)]
pub(in crate::commands) struct ForeseenTiming {
    /// The identity of a new schedule, on which its jitter and its `H` fields depend.
    pub(in crate::commands) begin: Option<NewIdentity>,
    definition: Definition,
    calendars: Vec<Arc<ForeseenCalendar>>,
    facts: TimingFacts,
}

impl ForeseenTiming {
    /// The facts and the keys of the calendars, if these are the facts about this definition under
    /// the calendars with these names, all of which the transaction holds.
    fn facts(
        &self,
        definition: &Definition,
        names: &[String],
    ) -> Option<(&TimingFacts, Option<Keys>)> {
        let named = self.calendars.iter().map(|calendar| &calendar.name);
        if self.definition != *definition || !named.eq(names) {
            return None;
        }
        let keys = self.calendars.iter().map(|calendar| calendar.held.get().copied());
        let keys = keys.collect::<Option<Vec<_>>>()?;
        Some((&self.facts, (!keys.is_empty()).then_some(Keys(keys))))
    }
}

impl Commands {
    /// The calendars with these names as they are now.
    pub(in crate::commands) async fn foreseen_calendars(
        &self,
        namespace: Uuid,
        mut names: Vec<String>,
    ) -> Result<ForeseenCalendars, CommandError> {
        names.sort();
        names.dedup();
        if names.is_empty() {
            return Ok(ForeseenCalendars::new());
        }
        let rows = calendars::by_names(self.store.read(), namespace, &names, false).await?;
        let of = |row: calendar::Model| {
            let calendar = ForeseenCalendar::new(row.name.clone(), row.mode, row.definition);
            (row.name, Arc::new(calendar))
        };
        Ok(rows.into_iter().map(of).collect())
    }

    /// Works timings out, in the given order. Must not be called while holding a transaction: it
    /// may take a while.
    pub(in crate::commands) async fn foresee_timings(
        &self,
        namespace: Uuid,
        all: Vec<Option<PlannedTiming>>,
    ) -> Result<Vec<Option<ForeseenTiming>>, CommandError> {
        let mut foreseen = Vec::with_capacity(all.len());
        let mut all = all.into_iter();
        loop {
            let chunk: Vec<_> = all.by_ref().take(CHUNK).collect();
            if chunk.is_empty() {
                break;
            }
            let (cache, now) = (self.cache.clone(), self.clock.now());
            let each = move |one: Option<PlannedTiming>| one?.worked_out(&cache, now);
            let work = move || chunk.into_iter().map(each).collect::<Vec<_>>();
            foreseen.extend(self.compute(namespace, work).await?);
        }
        tracing::debug!(timings = foreseen.len(), "has worked out timings before a transaction");
        Ok(foreseen)
    }

    /// Works out the timing of one schedule; `begin` is given for a new one. `None` if the
    /// definition is refused, which the transaction reports. Must not be called while holding a
    /// transaction: it may take a while.
    pub(in crate::commands) async fn foresee_timing(
        &self,
        namespace: Uuid,
        begin: Option<NewIdentity>,
        id: Uuid,
        anchor: DateTime<Utc>,
        spec: &Spec,
    ) -> Result<Option<ForeseenTiming>, CommandError> {
        if self.check_spec(spec).is_err() {
            return Ok(None);
        }
        let definition = spec.timing.definition(id, anchor);
        let known = self.foreseen_calendars(namespace, spec.calendars.clone()).await?;
        let planned = PlannedTiming::new(begin, definition, &spec.calendars, &known);
        if spec.calendars.is_empty() {
            // A timing alone costs less than a place among those of the namespace.
            let now = self.clock.now();
            return Ok(planned.and_then(|planned| planned.worked_out(&self.cache, now)));
        }
        Ok(self.foresee_timings(namespace, vec![planned]).await?.pop().flatten())
    }

    /// Works out the timing of a stored schedule as it is.
    pub(in crate::commands) async fn foresee_stored(
        &self,
        row: &schedule::Model,
    ) -> Result<Option<ForeseenTiming>, CommandError> {
        let spec = self.spec_of(self.store.read(), row).await?;
        let (namespace, anchor) = (row.namespace_id, row.anchor_at.utc());
        self.foresee_timing(namespace, None, row.id, anchor, &spec).await
    }

    /// Locks the calendars of these timings until the transaction ends, and compares each with the
    /// one that the timings were worked out from. This takes one statement, or none if all of them
    /// are locked already.
    pub(in crate::commands) async fn hold_calendars<'a>(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        timings: impl Iterator<Item = &'a ForeseenTiming>,
    ) -> Result<(), CommandError> {
        let mut missing = ForeseenCalendars::new();
        for calendar in timings.flat_map(|timing| &timing.calendars) {
            if calendar.held.get().is_none() && !missing.contains_key(&calendar.name) {
                missing.insert(calendar.name.clone(), calendar.clone());
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = missing.keys().cloned().collect();
        for row in calendars::by_names(tx, namespace, &names, true).await? {
            if let Some(calendar) = missing.get(&row.name) {
                calendar.hold(&row);
            }
        }
        tracing::debug!(calendars = names.len(), "has locked the calendars of its timings");
        Ok(())
    }

    /// The facts about the timing of a definition, for a schedule with this key and anchor, and the
    /// keys of its calendars, which are locked until the transaction ends.
    pub(in crate::commands) async fn timing_facts(
        &self,
        tx: &DatabaseTransaction,
        namespace: Uuid,
        spec: &Spec,
        id: Uuid,
        anchor: DateTime<Utc>,
        foreseen: Option<&ForeseenTiming>,
    ) -> Result<(TimingFacts, Option<Keys>), CommandError> {
        let definition = spec.timing.definition(id, anchor);
        if let Some(foreseen) = foreseen {
            self.hold_calendars(tx, namespace, [foreseen].into_iter()).await?;
            if let Some((facts, keys)) = foreseen.facts(&definition, &spec.calendars) {
                return Ok((facts.clone(), keys));
            }
        }
        tracing::debug!(schedule_id = %id, "works out a timing in a transaction");
        let (timetable, keys) = self.timetable(tx, namespace, spec, id, anchor).await?;
        Ok((TimingFacts::of(timetable, self.clock.now()), keys))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn definition(expression: &str) -> Definition {
        Definition::new(vec![expression.to_owned()], "UTC")
    }

    fn row(name: &str, definition: Value) -> calendar::Model {
        calendar::Model {
            id: Uuid::from_u128(1),
            namespace_id: Uuid::nil(),
            name: name.to_owned(),
            mode: calendar::Mode::Exclude,
            definition,
            version: 1,
            module: None,
            created_at: DateTime::UNIX_EPOCH.into(),
            updated_at: DateTime::UNIX_EPOCH.into(),
            deleted_at: None,
        }
    }

    fn foreseen(expression: &str, names: &[&str], stored: &calendar::Model) -> ForeseenTiming {
        let calendar =
            ForeseenCalendar::new(stored.name.clone(), stored.mode, stored.definition.clone());
        let known = [(stored.name.clone(), Arc::new(calendar))].into();
        let planned = PlannedTiming::new(None, definition(expression), &texts(names), &known);
        planned.unwrap().worked_out(&timetable::Cache::new(2), DateTime::UNIX_EPOCH).unwrap()
    }

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn facts_count_only_for_what_they_were_worked_out_from() {
        let holidays = row("holidays", json!({ "dates": ["1970-01-02"] }));
        let names = texts(&["holidays"]);
        let timing = foreseen("0 9 * * *", &["holidays"], &holidays);
        let (same, other) = (definition("0 9 * * *"), definition("0 8 * * *"));
        assert!(timing.facts(&same, &names).is_none(), "its calendar is not locked");
        let changed = row("holidays", json!({ "dates": ["1970-01-03"] }));
        timing.calendars[0].hold(&changed);
        assert!(timing.facts(&same, &names).is_none(), "under another calendar");
        timing.calendars[0].hold(&holidays);
        let (facts, keys) = timing.facts(&same, &names).unwrap();
        assert!(facts.timetable.has_calendars() && !facts.is_silenced);
        assert_eq!(keys, Some(Keys(vec![holidays.id])));
        assert!(timing.facts(&other, &names).is_none());
        assert!(timing.facts(&same, &[]).is_none(), "without its calendar");
        let plain = foreseen("0 9 * * *", &[], &holidays);
        assert_eq!(plain.facts(&same, &[]).unwrap().1, None);
        assert!(plain.facts(&same, &names).is_none(), "under one more");
    }

    #[test]
    fn what_is_refused_is_not_foreseen() {
        let known = ForeseenCalendars::new();
        let names = ["gone".to_owned()];
        assert!(PlannedTiming::new(None, definition("@daily"), &names, &known).is_none());
        let twice = row("holidays", json!({ "dates": ["1970-01-02"] }));
        let twice = ForeseenCalendar::new(twice.name, twice.mode, twice.definition);
        let twice = [("holidays".to_owned(), Arc::new(twice))].into();
        let names = texts(&["holidays", "holidays"]);
        assert!(PlannedTiming::new(None, definition("@daily"), &names, &twice).is_none());
        let bad = PlannedTiming::new(None, definition("0 25 * * *"), &[], &known).unwrap();
        let cache = timetable::Cache::new(2);
        assert!(bad.worked_out(&cache, DateTime::UNIX_EPOCH).is_none());
    }

    #[test]
    fn calendars_that_let_nothing_through_are_told() {
        let mondays = row("mondays", json!({ "weekdays": ["mon"] }));
        let timing = foreseen("0 9 * * 1", &["mondays"], &mondays);
        assert!(timing.facts.is_silenced && !timing.facts.warnings.is_empty());
    }
}
