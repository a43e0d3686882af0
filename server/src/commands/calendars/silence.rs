//! Refuses changes of calendars that would suppress every fire of a schedule, just as saving such a
//! schedule is refused. A manual change is checked on its own. A deployment is checked after all of
//! it is written, because a module may change calendars and schedules together.
//!
//! No index can tell whether a timing fires at all under its calendars. So all schedules that name
//! a calendar are checked before the transaction that changes the calendar. That check blocks
//! nothing: it computes on blocking threads, in the places that its namespace has. SQLite allows no
//! other write during the transaction, so it checks only two kinds again: the schedules that the
//! first check found silenced, and those that have changed since. If the calendars differ from
//! those of the first check, the transaction checks all schedules again.

use std::{collections::HashMap, sync::Arc};

use chrono::{DateTime, TimeDelta, Utc};
use entity::{Keys, Timestamp, calendar::Model, schedule};
use sea_orm::ConnectionTrait;
use serde_json::json;
use uuid::Uuid;

use crate::{
    commands::{
        BadInput, CommandError, Commands,
        calendars::{CalendarSpec, some_of},
        schedules::suppression,
    },
    model::{
        calendars::{self as compiled, CurrentCalendars},
        spec::Spec,
    },
    store::{DatabaseTransaction, StoreError, calendars, schedules},
};

/// Number of schedules read at once.
const PAGE: u64 = 500;

/// This many silenced schedules are enough to refuse a change.
const ENOUGH: usize = 20;

/// Maximum number of schedules that the transaction checks again. A deployment may change as many
/// schedules together with the calendar.
const MAX_SUSPECTS: usize = 1_000;

/// A change up to this much older than a check counts as made after it: another node's clock may
/// differ, or the transaction of the change may still have been open.
const MARGIN: TimeDelta = TimeDelta::minutes(10);

/// The expected effect of calendar changes, computed before they are made.
#[derive(Debug)]
pub(in crate::commands) struct ForeseenEffect {
    /// A time that is not later than the beginning of the check.
    since: Timestamp,
    /// The calendars of the namespace after the change, with their versions.
    versions: HashMap<Uuid, i32>,
    /// The schedules that would have no fire left.
    suspects: Vec<Uuid>,
}

impl Commands {
    /// Computes the effect of changes to a namespace's calendars on the schedules that name them;
    /// `None` if there are too many to compute beforehand. Must not be called while holding a
    /// transaction: it may take a while.
    pub(in crate::commands) async fn foresee(
        &self,
        namespace: Uuid,
        changes: &[(Model, CalendarSpec)],
    ) -> Result<Option<ForeseenEffect>, CommandError> {
        let (read, dialect) = (self.store.read(), self.store.dialect());
        let since = Timestamp::from(self.clock.now() - MARGIN);
        let mut versions: HashMap<_, _> =
            calendars::versions_in(read, namespace).await?.into_iter().collect();
        let changed = |(row, spec): &(Model, CalendarSpec)| Model {
            version: row.version + 1,
            mode: spec.mode,
            definition: json!(spec.entries),
            ..row.clone()
        };
        let after: Vec<Model> = changes.iter().map(changed).collect();
        let before: Vec<Model> = changes.iter().map(|(row, _)| row.clone()).collect();
        let mut suspects = Vec::new();
        for row in &before {
            let mut last = None::<String>;
            loop {
                let page = calendars::users(read, dialect, row, last.as_deref(), PAGE).await?;
                let Some(end) = page.last() else { break };
                last = Some(end.name.clone());
                let check = self.silence_check(read, page, &before, &after).await?;
                let silenced = self.compute(namespace, move || check.silenced()).await?;
                suspects.extend(silenced.into_iter().map(|schedule| schedule.id));
                if suspects.len() > MAX_SUSPECTS {
                    return Ok(None);
                }
            }
        }
        versions.extend(after.iter().map(|row| (row.id, row.version)));
        Ok(Some(ForeseenEffect { since, versions, suspects }))
    }

    /// The first schedules by name whose fires are all suppressed by the calendars in this
    /// transaction, but were not all suppressed by those in `before`.
    pub(in crate::commands) async fn silenced_by(
        &self,
        tx: &DatabaseTransaction,
        row: &Model,
        before: &[Model],
        foreseen: Option<&ForeseenEffect>,
    ) -> Result<Vec<String>, CommandError> {
        let dialect = self.store.dialect();
        let foreseen = match foreseen {
            Some(foreseen) if foreseen.is_so(tx, row.namespace_id).await? => Some(foreseen),
            Some(_) | None => None,
        };
        let since = foreseen.map(|foreseen| foreseen.since);
        let (mut silenced, mut last) = (Vec::new(), None::<String>);
        if let Some(ForeseenEffect { suspects, .. }) = foreseen {
            let mut suspects = schedules::by_ids(tx, suspects).await?;
            suspects.retain(|schedule| {
                let names_it = |Keys(keys): &Keys| keys.contains(&row.id);
                schedule.deleted_at.is_none() && schedule.calendars.as_ref().is_some_and(names_it)
            });
            silenced.extend(self.silence_check(tx, suspects, before, &[]).await?.silenced());
        }
        while silenced.len() < ENOUGH {
            let page =
                calendars::users_since(tx, dialect, row, since, last.as_deref(), PAGE).await?;
            last = page.last().map(|schedule| schedule.name.clone());
            silenced.extend(self.silence_check(tx, page, before, &[]).await?.silenced());
            if last.is_none() {
                break;
            }
        }
        let mut names: Vec<_> = silenced.into_iter().map(|schedule| schedule.name).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// A check of the given schedules. Reads the calendars through this connection, except for
    /// those passed as they were before and as they are after.
    async fn silence_check<C: ConnectionTrait>(
        &self,
        connection: &C,
        schedules: Vec<schedule::Model>,
        before: &[Model],
        after: &[Model],
    ) -> Result<SilenceCheck, CommandError> {
        let named = compiled::named(schedules.iter().map(|schedule| &schedule.calendars));
        let named: Vec<Uuid> = named.into_iter().collect();
        Ok(SilenceCheck {
            schedules,
            calendars: calendars::by_ids(connection, &named).await?,
            before: before.to_vec(),
            after: after.to_vec(),
            cache: self.cache.clone(),
            now: self.clock.now(),
        })
    }

    /// Refuses this transaction's changes to the calendars in `before` if one of them would
    /// suppress every fire of any schedule. Returns the calendars that changed.
    pub(in crate::commands) async fn silences_nobody(
        &self,
        tx: &DatabaseTransaction,
        before: &[Model],
        foreseen: Option<&ForeseenEffect>,
    ) -> Result<Vec<Model>, CommandError> {
        let mut redrawn = Vec::new();
        let keys: Vec<_> = before.iter().map(|row| row.id).collect();
        for row in calendars::by_ids(tx, &keys).await? {
            let was = before.iter().find(|was| was.id == row.id);
            if row.deleted_at.is_some() || was.is_some_and(|was| was.version == row.version) {
                continue;
            }
            let silenced = self.silenced_by(tx, &row, before, foreseen).await?;
            if !silenced.is_empty() {
                let field = format!("calendars.{}", row.name);
                let names = some_of(&silenced);
                let problem = format!("would suppress every fire of {names}");
                let help = "leave a time at which they fire, or change their timing as well";
                return Err(BadInput::new(field, row.name, problem, help).into());
            }
            redrawn.push(row);
        }
        Ok(redrawn)
    }
}

/// Schedules to check, and the calendars that they name.
struct SilenceCheck {
    schedules: Vec<schedule::Model>,
    calendars: Vec<Model>,
    /// The calendars that differed before.
    before: Vec<Model>,
    /// The calendars that will differ.
    after: Vec<Model>,
    cache: Arc<timetable::Cache>,
    now: DateTime<Utc>,
}

impl SilenceCheck {
    /// The schedules whose fires are all suppressed, but were not all suppressed before. Computes
    /// for a while.
    fn silenced(self) -> Vec<schedule::Model> {
        let Self { mut schedules, calendars, before, after, cache, now } = self;
        let compile = |row: &Model| (row.id, compiled::compile(row));
        let current: CurrentCalendars = calendars.iter().map(compile).collect();
        let with = |rows: &[Model]| {
            let mut current = current.clone();
            current.extend(rows.iter().map(compile));
            current
        };
        let (before, after) = (with(&before), with(&after));
        schedules.retain(|schedule| {
            let timing = Spec::of(schedule).timing;
            let definition = timing.definition(schedule.id, schedule.anchor_at.utc());
            // An unreadable timing is a different problem, which is reported elsewhere.
            let Ok(plain) = cache.timetable(&definition) else { return false };
            let is_silent = |current: &CurrentCalendars| {
                let keys = schedule.calendars.as_ref();
                let timetable = compiled::with(plain.clone(), keys, current);
                timetable.is_ok_and(|timetable| suppression::silences(&timetable, now))
            };
            is_silent(&after) && !is_silent(&before)
        });
        schedules
    }
}

impl ForeseenEffect {
    /// Whether the calendars are as expected. If so, only schedules that have changed since can
    /// name another calendar.
    async fn is_so(&self, tx: &DatabaseTransaction, namespace: Uuid) -> Result<bool, StoreError> {
        let there = calendars::versions_in(tx, namespace).await?;
        let is_so = |(id, version): &(Uuid, i32)| {
            self.versions.get(id).is_none_or(|foreseen| foreseen == version)
        };
        Ok(there.iter().all(is_so))
    }
}
