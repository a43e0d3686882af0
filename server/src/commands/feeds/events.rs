//! The events of a calendar feed: upcoming fires, current pauses and maintenance windows.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Utc};
use entity::{
    maintenance_window::{self, State},
    schedule::Model,
};
use timetable::{Fire, Timetable};
use uuid::Uuid;

use super::{
    FeedContent, OpenFeed,
    event::{EventTime, FeedEvent, FeedPause, FeedSchedule, FeedWindow},
    suppressed::SuppressedDays,
};
use crate::{
    commands::{CommandError, Commands, bulk::query::sought},
    model::{
        Spec,
        calendars::{self, CurrentCalendars},
    },
    search::SearchedList,
    store::{
        PageWindow, calendars as store_calendars, maintenance,
        reads::{self, within::Within},
        schedules,
    },
};

/// How many days ahead a feed reaches, in addition to today.
const DAYS: u64 = 31;
/// Maximum number of schedules to read, and of runs to show.
pub(super) const SCHEDULES: u64 = 1_000;
const EVENTS: usize = 2_000;
/// Maximum number of pauses to show, and of days on which calendars suppress fires.
const OTHERS: usize = 500;
/// Maximum number of individual events of a schedule on one day. If it has more fires, one event
/// stands for the day.
const EACH: u64 = 12;
/// Maximum number of calls of the calculator.
const LOOKS: usize = 100_000;

const MOMENT: TimeDelta = TimeDelta::milliseconds(1);

/// The events of a feed, soonest first, and whether the list is complete.
pub async fn events(
    commands: &Commands,
    opened: &OpenFeed,
    content: FeedContent,
) -> Result<(Vec<FeedEvent>, bool), CommandError> {
    let now = commands.clock.now();
    let FoundSchedules { active: rows, mut paused } =
        schedules_of(commands, opened, content).await?;
    let window = |row: &Model| if row.enabled { row.pause_window_id } else { row.paused_window_id };
    let named: HashSet<Uuid> = rows.iter().chain(&paused).filter_map(window).collect();
    let windows = windows_of(commands, opened, named, now).await?;
    // One event stands for all pauses of a window.
    paused.retain(|row| row.paused_window_id.is_none_or(|id| !windows.contains_key(&id)));
    let named = calendars::named(rows.iter().map(|row| &row.calendars));
    let current = commands.calendars.current(commands.store.read(), &named, calendars::NOW).await?;
    let ids: Vec<Uuid> = named.into_iter().collect();
    let changed = store_calendars::versions(commands.store.read(), &ids).await?;
    let changed = changed.into_iter().map(|one| (one.id, one.updated_at.utc())).collect();
    let cache = commands.cache.clone();
    let work = move || {
        let suppressed = SuppressedDays::new(&current, &changed);
        let (mut found, mut is_whole) =
            ahead(rows, &cache, &current, &windows, suppressed, now, content);
        if content.pauses {
            is_whole &= paused.len() <= OTHERS;
            found.extend(paused.iter().take(OTHERS).filter_map(|row| pause_of(row, &cache, now)));
            let windows = windows.values().filter(|row| is_ahead(row, now));
            found.extend(windows.map(FeedWindow::of).map(FeedEvent::Window));
        }
        found.sort_by_key(|event| (event.begins(), event.id()));
        (found, is_whole)
    };
    commands.compute(opened.feed.namespace_id, work).await
}

/// The coming runs of these schedules, and the days on which calendars suppress their fires.
fn ahead(
    rows: Vec<Model>,
    cache: &timetable::Cache,
    current: &CurrentCalendars,
    windows: &HashMap<Uuid, maintenance_window::Model>,
    mut suppressed: SuppressedDays,
    now: DateTime<Utc>,
    content: FeedContent,
) -> (Vec<FeedEvent>, bool) {
    let mut is_whole = rows.len() < usize::try_from(SCHEDULES).unwrap_or(usize::MAX);
    let (mut found, mut looks) = (Vec::new(), LOOKS);
    // Days without fires must not cost a later schedule its runs.
    let mut suppressed_looks = LOOKS;
    for row in rows {
        let definition = Spec::of(&row).timing.definition(row.id, row.anchor_at.utc());
        let plain = cache.timetable(&definition);
        let timetable =
            plain.and_then(|plain| calendars::with(plain, row.calendars.as_ref(), current));
        // If the timing of a schedule cannot be compiled, the schedule does not fire.
        let Ok(timetable) = timetable else { continue };
        if content.runs {
            let planned = row.pause_from.zip(row.pause_window_id.and_then(|id| windows.get(&id)));
            let planned = planned.map(|(from, window)| {
                timetable.without(&window.title, from.utc(), window.ends_at.utc())
            });
            let timetable = planned.as_ref().unwrap_or(&timetable);
            is_whole &= of_schedule(&row, timetable, now, &mut looks, &mut found);
        }
        if content.calendars && timetable.has_calendars() {
            let until = midnight_after(now.date_naive(), DAYS) - MOMENT;
            let (after, left) = (cursor(&row, now), fires_left(&row));
            let looks = &mut suppressed_looks;
            is_whole &= suppressed.add(&row, &timetable, after, until, left, looks);
        }
    }
    found.sort_by_key(|event| (event.begins(), event.id()));
    is_whole &= found.len() <= EVENTS;
    found.truncate(EVENTS);
    let (days, are_all) = suppressed.first(OTHERS);
    found.extend(days.into_iter().map(FeedEvent::Suppressed));
    (found, is_whole && are_all)
}

/// The current pause of a schedule.
fn pause_of(row: &Model, cache: &timetable::Cache, now: DateTime<Utc>) -> Option<FeedEvent> {
    let from = row.paused_at?.utc();
    let end = row.paused_until.map(|until| until.utc());
    let definition = Spec::of(row).timing.definition(row.id, row.anchor_at.utc());
    let timetable = cache.timetable(&definition);
    let pause = FeedPause {
        from,
        until: end.unwrap_or_else(|| midnight_after(now.date_naive(), DAYS)),
        has_end: end.is_some(),
        reason: row.paused_reason.clone().unwrap_or_default(),
        by: row.paused_by.clone().unwrap_or_default(),
    };
    let words = timetable.map(|timetable| timetable.describe()).unwrap_or_default();
    (from < pause.until).then(|| FeedEvent::Pause(FeedSchedule::of(row, words), pause))
}

/// The maintenance windows with these keys and, for the feed of a namespace, all that are ahead.
async fn windows_of(
    commands: &Commands,
    opened: &OpenFeed,
    named: HashSet<Uuid>,
    now: DateTime<Utc>,
) -> Result<HashMap<Uuid, maintenance_window::Model>, CommandError> {
    let (read, feed) = (commands.store.read(), &opened.feed);
    let named: Vec<Uuid> = named.into_iter().collect();
    let mut windows = Vec::new();
    if !named.is_empty() {
        windows = maintenance::by_ids(read, &named).await?;
    }
    if feed.schedule_id.is_none() && feed.search.is_none() {
        let (from, to) = (now.into(), midnight_after(now.date_naive(), DAYS).into());
        let home = feed.namespace_id;
        let ahead = maintenance::overlapping(read, home, from, to, None, OTHERS as u64);
        windows.extend(ahead.await?);
    }
    Ok(windows.into_iter().map(|row| (row.id, row)).collect())
}

/// Whether a window is planned or active.
fn is_ahead(window: &maintenance_window::Model, now: DateTime<Utc>) -> bool {
    matches!(window.state, State::Planned | State::Active) && now < window.ends_at.utc()
}

/// The schedules of a feed.
struct FoundSchedules {
    /// The schedules that will fire.
    active: Vec<Model>,
    paused: Vec<Model>,
}

async fn schedules_of(
    commands: &Commands,
    opened: &OpenFeed,
    content: FeedContent,
) -> Result<FoundSchedules, CommandError> {
    let rows = shown(commands, opened).await?;
    let rows = rows.into_iter().filter(|row| row.deleted_at.is_none());
    let (mut active, mut paused): (Vec<_>, Vec<_>) = rows.partition(|row| row.enabled);
    active.retain(|row| row.next_scheduled_at.is_some());
    let is_of_namespace = opened.feed.schedule_id.is_none() && opened.feed.search.is_none();
    if content.pauses && is_of_namespace {
        // The feed of a namespace finds the schedules that fire next, so none that is paused.
        let within = Within::One(opened.feed.namespace_id);
        let standing = Some(reads::schedules::ScheduleStatus::Paused);
        let filter = reads::schedules::Filter { standing, ..Default::default() };
        let window = PageWindow::first(OTHERS as u64 + 1);
        let page = reads::schedules::page(&commands.store, &within, &filter, false, &window);
        paused = page.await?.rows;
    }
    Ok(FoundSchedules { active, paused })
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
            let search = sought(&commands.clock, SearchedList::Schedules, search, false)?;
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
    let until = midnight_after(now.date_naive(), DAYS);
    let (mut after, mut left) = (cursor(row, now), fires_left(row));
    let shown = FeedSchedule::of(row, timetable.describe());
    while left > 0 {
        // Continues with the day of the next fire: days without fires are skipped.
        let Some(next) = timetable.next_allowed(after).filter(|fire| fire.at < until) else {
            return true;
        };
        let Some(rest) = looks.checked_sub(2) else { return false };
        *looks = rest;
        let date = next.at.date_naive();
        let end = midnight_after(date, 1) - MOMENT;
        let fires = count(timetable, next.at - MOMENT, end).min(left);
        let event = |when| FeedEvent::Run(shown.clone(), when);
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

/// The instant after which the schedule has fires that are still ahead.
fn cursor(row: &Model, now: DateTime<Utc>) -> DateTime<Utc> {
    row.next_scheduled_at.map_or(now, |cursor| cursor.utc()).max(now) - MOMENT
}

/// The number of fires before the schedule is exhausted.
fn fires_left(row: &Model) -> u64 {
    row.max_fires.map_or(u64::MAX, |most| u64::try_from(most - row.fire_count).unwrap_or_default())
}

/// Counts the fires that no calendar suppresses.
fn count(timetable: &Timetable, after: DateTime<Utc>, until: DateTime<Utc>) -> u64 {
    timetable.count_allowed(after, until).unwrap_or_else(|| timetable.count(after, until))
}

fn midnight_after(date: NaiveDate, days: u64) -> DateTime<Utc> {
    let date = date.checked_add_days(Days::new(days)).unwrap_or(NaiveDate::MAX);
    date.and_time(NaiveTime::MIN).and_utc()
}
