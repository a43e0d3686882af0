use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};
use entity::{Timestamp, schedule::Model};
use timetable::{Fire, Timetable};

use super::OpenFeed;
use crate::{
    commands::{CommandError, Commands, bulk::query::sought},
    model::{
        Spec,
        calendars::{self, CurrentCalendars},
    },
    search::List,
    store::{
        PageWindow,
        reads::{self, within::Within},
        schedules,
    },
};

/// How many days ahead a feed reaches, in addition to today.
const DAYS: u64 = 31;
/// Maximum number of schedules to read, and of events to show.
const SCHEDULES: u64 = 1_000;
const EVENTS: usize = 2_000;
/// Maximum number of individual events of a schedule on one day. If it has more fires, one event
/// stands for the day.
const EACH: u64 = 12;
/// Maximum number of calls of the calculator.
const LOOKS: usize = 100_000;

/// A run, or the runs of a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedEvent {
    /// The schedule that fires.
    pub schedule: FeedSchedule,
    /// The time or day.
    pub when: EventTime,
}

/// The properties of a schedule that a calendar shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedSchedule {
    /// The schedule's key.
    pub id: uuid::Uuid,
    /// The schedule's name.
    pub name: String,
    /// A description of the schedule's timing.
    pub description: String,
    /// The schedule's note.
    pub note: String,
    /// The schedule's tags.
    pub tags: Vec<String>,
    /// When the schedule was last changed.
    pub updated_at: Timestamp,
}

/// The time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventTime {
    /// A single instant.
    At(DateTime<Utc>),
    /// A day in UTC, and the number of fires on it.
    On(NaiveDate, u64),
}

impl EventTime {
    fn begins(self) -> DateTime<Utc> {
        match self {
            Self::At(at) => at,
            Self::On(date, _) => date.and_time(NaiveTime::MIN).and_utc(),
        }
    }
}

/// The events of a feed, soonest first, and whether the list is complete.
pub async fn events(
    commands: &Commands,
    opened: &OpenFeed,
) -> Result<(Vec<FeedEvent>, bool), CommandError> {
    let now = commands.clock.now();
    let rows = schedules_of(commands, opened).await?;
    let named = calendars::named(rows.iter().map(|row| &row.calendars));
    let current = commands.calendars.current(commands.store.read(), &named, calendars::NOW).await?;
    let cache = commands.cache.clone();
    let work = move || events_of(rows, &cache, &current, now);
    commands.compute(opened.feed.namespace_id, work).await
}

/// The events of these schedules.
fn events_of(
    rows: Vec<Model>,
    cache: &timetable::Cache,
    current: &CurrentCalendars,
    now: DateTime<Utc>,
) -> (Vec<FeedEvent>, bool) {
    let mut is_whole = rows.len() < usize::try_from(SCHEDULES).unwrap_or(usize::MAX);
    let (mut found, mut looks) = (Vec::new(), LOOKS);
    for row in rows {
        let definition = Spec::of(&row).timing.definition(row.id, row.anchor_at.utc());
        let plain = cache.timetable(&definition);
        let timetable =
            plain.and_then(|plain| calendars::with(plain, row.calendars.as_ref(), current));
        // If the timing of a schedule cannot be compiled, the schedule does not fire.
        if let Ok(timetable) = timetable {
            is_whole &= of_schedule(&row, &timetable, now, &mut looks, &mut found);
        }
    }
    found.sort_by_key(|event| (event.when.begins(), event.schedule.id));
    is_whole &= found.len() <= EVENTS;
    found.truncate(EVENTS);
    (found, is_whole)
}

/// The schedules of the feed that will fire.
async fn schedules_of(commands: &Commands, opened: &OpenFeed) -> Result<Vec<Model>, CommandError> {
    let rows = shown(commands, opened).await?;
    let fires = |row: &Model| row.enabled && row.deleted_at.is_none();
    Ok(rows.into_iter().filter(|row| fires(row) && row.next_scheduled_at.is_some()).collect())
}

/// The schedules of a feed, at most 1,000.
pub(super) async fn shown(
    commands: &Commands,
    opened: &OpenFeed,
) -> Result<Vec<Model>, CommandError> {
    let OpenFeed { feed, .. } = opened;
    let store = &commands.store;
    let within = Within::One(feed.namespace_id);
    Ok(match (feed.schedule_id, &feed.search) {
        (Some(id), _) => {
            let row = schedules::by_id(store.read(), id).await?;
            row.into_iter().filter(|row| row.namespace_id == feed.namespace_id).collect()
        }
        (None, Some(search)) => {
            let search = sought(&commands.clock, List::Schedules, search, false)?;
            let filter = reads::schedules::Filter { search: Some(search), ..Default::default() };
            let window = PageWindow::first(SCHEDULES);
            reads::schedules::page(store, &within, &filter, false, &window).await?.rows
        }
        (None, None) => reads::overview::soonest(store, &within, SCHEDULES).await?,
    })
}

/// Adds the events of a schedule; false if there are more than the limit allows.
fn of_schedule(
    row: &Model,
    timetable: &Timetable,
    now: DateTime<Utc>,
    looks: &mut usize,
    found: &mut Vec<FeedEvent>,
) -> bool {
    let moment = TimeDelta::milliseconds(1);
    let until = midnight_after(now.date_naive(), DAYS);
    let cursor = row.next_scheduled_at.map_or(now, |cursor| cursor.utc());
    let mut after = cursor.max(now) - moment;
    let mut left = row
        .max_fires
        .map_or(u64::MAX, |most| u64::try_from(most - row.fire_count).unwrap_or_default());
    let shown = FeedSchedule {
        id: row.id,
        name: row.name.clone(),
        description: timetable.describe(),
        note: row.note.clone(),
        tags: row.tags.0.clone(),
        updated_at: row.updated_at,
    };
    while left > 0 {
        // Continues with the day of the next fire: days without fires are skipped.
        let Some(next) = timetable.next_allowed(after).filter(|fire| fire.at < until) else {
            return true;
        };
        let Some(rest) = looks.checked_sub(2) else { return false };
        *looks = rest;
        let date = next.at.date_naive();
        let end = midnight_after(date, 1) - moment;
        let fires = count(timetable, next.at - moment, end).min(left);
        let event = |when| FeedEvent { schedule: shown.clone(), when };
        if fires > EACH {
            found.push(event(EventTime::On(date, fires)));
        } else {
            let each =
                std::iter::successors(Some(next), |fire: &Fire| timetable.next_allowed(fire.at));
            let each = each.take(usize::try_from(fires).unwrap_or(usize::MAX));
            found.extend(each.map(|fire| event(EventTime::At(fire.at))));
            *looks = looks.saturating_sub(usize::try_from(fires).unwrap_or(usize::MAX));
        }
        left -= fires.max(1).min(left);
        after = end;
    }
    true
}

/// Counts the fires that no calendar suppresses.
fn count(timetable: &Timetable, after: DateTime<Utc>, until: DateTime<Utc>) -> u64 {
    timetable.count_allowed(after, until).unwrap_or_else(|| timetable.count(after, until))
}

fn midnight_after(date: NaiveDate, days: u64) -> DateTime<Utc> {
    let date = date.checked_add_days(Days::new(days)).unwrap_or(NaiveDate::MAX);
    date.and_time(NaiveTime::MIN).and_utc()
}
