//! Upcoming fires of all schedules of a namespace, if nothing changes: the number in each hour, and
//! the next fires individually. Computed by the calculator that the planner uses.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use async_graphql::{Context, Object, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, schedule::Model};
use futures::future::join_all;
use timetable::{Timetable, clock_hour};
use uuid::Uuid;

use super::{
    calm::Calm,
    context::ContextExt,
    error::Result,
    filters::sought,
    frequent::is_frequent,
    maintenance,
    overview::Upcoming,
    page::{bounded, bounded_by, cost, search_cost},
    query::{usual, within},
    scalar::{Instant, Long},
    schedule::Schedule,
};
use crate::{
    commands::BadInput,
    model::percentile,
    search::SearchedList,
    store::reads::{schedule_stats, schedules, within::Within},
};

/// Maximum number of schedules examined: those that are due soonest.
const SCHEDULES: u64 = 2_000;
/// Maximum number of calls of the calculator.
const LOOKS: usize = 200_000;
/// Two weeks in hours.
const HOURS: i32 = 336;
/// How far back runs are read to determine how long a schedule's runs take, and how many of each
/// schedule.
const PAST: TimeDelta = TimeDelta::days(30);
const PAST_RUNS: u64 = 10;
/// The cost of an hour's work: the runs of all schedules are read for it.
const WORK: usize = 30;
/// How many days ahead the window may begin. Fires before it must be counted, too.
const DAYS: i64 = 366;

/// Queries of upcoming fires.
#[derive(Default)]
pub(super) struct ReadingAhead;

/// Queries of upcoming fires.
#[Object]
impl ReadingAhead {
    /// What all schedules of a namespace will do, if nothing changes.
    #[graphql(
        complexity = "15000 + search_cost(search.as_deref()) + cost(Some(first.max(hours)), None, child_complexity)"
    )]
    async fn upcoming(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(desc = "Now if absent; a past instant counts as now. At most a year ahead.")]
        from: Option<Instant>,
        #[graphql(default = 24, desc = "How many hours, 1 to 336.")] hours: i32,
        #[graphql(default = 50, desc = "How many of the next fires are listed, 1 to 200.")]
        first: i32,
        #[graphql(
            desc = "Only schedules that match this search, in the language of docs/search.md."
        )]
        search: Option<String>,
        #[graphql(
            default = true,
            desc = "Whether `fires` lists those of frequent schedules, too."
        )]
        frequent: bool,
        #[graphql(
            desc = "The IANA name of the zone by whose clock the hours are counted; UTC if absent."
        )]
        zone: Option<String>,
    ) -> Result<Forecast> {
        cx.viewer()?;
        let wanted = usize::try_from(bounded("first", first)?).unwrap_or_default();
        let hours = bounded_by("hours", hours, HOURS)?;
        let within = within(cx, namespace.as_deref()).await?;
        let now = cx.commands().clock.now();
        let from = begin(cx, from)?;
        let mut grid = HourGrid::new(from, hours, zone.as_deref().unwrap_or("UTC"))?;
        let (rows, mut is_complete) = soonest_rows(cx, &within, search).await?;
        if is_work_requested(cx) {
            grid.durations = usual_durations(cx, &rows, now).await?;
        }
        // The list needs one call for each schedule and one for each fire.
        grid.looks = grid.looks.saturating_sub(rows.len() + wanted);
        let mut ahead = Vec::with_capacity(rows.len());
        // All timetables at once, so that their calendars and windows are read together.
        let timetables = join_all(rows.iter().map(|row| maintenance::timetable(cx, row))).await;
        let mut frequent_schedules = 0;
        for (row, timetable) in rows.into_iter().zip(timetables) {
            if let Ok(timetable) = timetable? {
                // Schedules beyond the limit are left out; those that are due soonest come first.
                if grid.looks > 0 {
                    let starts = |after, until| count(&timetable, after, until);
                    // A schedule with a maximum of fires ends.
                    let is_frequent =
                        row.max_fires.is_none() && is_frequent(now, &mut grid.looks, starts);
                    let one = FiresLeft::new(row, timetable, from, &mut grid.looks);
                    is_complete &= grid.add(&one, is_frequent);
                    frequent_schedules += u64::from(is_frequent);
                    if frequent || !is_frequent {
                        ahead.push(one);
                    }
                } else {
                    is_complete = false;
                }
            }
            // Yield to other tasks, however many schedules there are.
            tokio::task::yield_now().await;
        }
        let fires = soonest(&ahead, grid.to, wanted).await;
        let (from, to) = (from.into(), grid.to.into());
        Ok(Forecast { from, to, hours: grid.hours, frequent_schedules, fires, is_complete })
    }
}

/// Where the window begins: now, or later within a year.
pub(super) fn begin(cx: &Context<'_>, from: Option<Instant>) -> Result<DateTime<Utc>> {
    let now = cx.commands().clock.now();
    let from = from.map_or(now, |from| from.0.max(now));
    if from > now + TimeDelta::days(DAYS) {
        let help = format!("give an instant within {DAYS} days from now");
        return Err(BadInput::new("from", from.to_rfc3339(), "is too far ahead", help).into());
    }
    Ok(from)
}

/// The schedules to examine, those that are due soonest first, and whether the list is complete.
pub(super) async fn soonest_rows(
    cx: &Context<'_>,
    within: &Within,
    search: Option<String>,
) -> Result<(Vec<Model>, bool)> {
    let search = sought(cx, within, SearchedList::Schedules, search)?;
    let filter = schedules::Filter { search, ..schedules::Filter::default() };
    let mut rows = schedules::soonest(cx.store(), within, &filter, SCHEDULES + 1).await?;
    let limit = usize::try_from(SCHEDULES).unwrap_or(usize::MAX);
    let is_complete = rows.len() <= limit;
    rows.truncate(limit);
    Ok((rows, is_complete))
}

fn is_work_requested(cx: &Context<'_>) -> bool {
    let requested = cx.look_ahead().field("hours");
    ["workMs", "frequentWorkMs"].into_iter().any(|field| requested.field(field).exists())
}

/// How long the runs of each schedule usually take, in milliseconds: the median of its newest runs
/// that succeeded. A schedule without such a run is left out.
pub(super) async fn usual_durations(
    cx: &Context<'_>,
    rows: &[Model],
    now: DateTime<Utc>,
) -> Result<HashMap<Uuid, i64>> {
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let until = now + TimeDelta::seconds(1);
    let (from, until) = (Timestamp::from(now - PAST), Timestamp::from(until));
    let figures = schedule_stats::of_schedules(cx.store(), &ids, from, until, PAST_RUNS).await?;
    let median =
        |(id, one): (Uuid, schedule_stats::RunFigures)| Some((id, percentile(&one.successes, 50)?));
    Ok(figures.into_iter().filter_map(median).collect())
}

/// Upcoming fires in a window.
#[derive(SimpleObject)]
pub(crate) struct Forecast {
    /// Start of the window, inclusive.
    from: Instant,
    /// The end of the window, exclusive.
    to: Instant,
    /// Each hour of the window by the clock of `zone`, in order. An hour that a clock change cuts is
    /// two shorter ones.
    hours: Vec<ForecastHour>,
    /// How many schedules are frequent: each starts at least 60 times in every one of the next 168
    /// whole hours, and equally often in each of them. Their fires make all hours look alike, so
    /// they are also counted apart.
    frequent_schedules: u64,
    /// The next fires, soonest first.
    fires: Vec<Calm<Upcoming>>,
    /// False if there is too much to count: then some fires of the schedules that are due last are
    /// left out.
    is_complete: bool,
}

/// Upcoming fires in an hour.
#[derive(SimpleObject)]
pub(crate) struct ForecastHour {
    /// Start of the hour.
    at: Instant,
    /// How many fires it has.
    fires: u64,
    /// How many schedules fire in the hour.
    schedules: u64,
    /// How many of these fires belong to frequent schedules.
    frequent_fires: u64,
    /// How many of these schedules are frequent.
    frequent_schedules: u64,
    /// How long the runs of these fires take together, if each takes as long as usual: the median
    /// of those of the schedule's newest 10 runs in the last 30 days that succeeded. Fires of a
    /// schedule without such a run do not count.
    #[graphql(complexity = "WORK + child_complexity")]
    work_ms: Long,
    /// The part of it that frequent schedules have.
    #[graphql(complexity = "WORK + child_complexity")]
    frequent_work_ms: Long,
}

/// A schedule, and the fires it has left.
pub(super) struct FiresLeft {
    row: Model,
    pub(super) timetable: Timetable,
    /// The fires that are left come after this instant.
    pub(super) after: DateTime<Utc>,
    /// Maximum number of fires that the schedule may still start.
    pub(super) left: u64,
}

impl FiresLeft {
    pub(super) fn new(
        row: Model,
        timetable: Timetable,
        from: DateTime<Utc>,
        looks: &mut usize,
    ) -> Self {
        let moment = TimeDelta::milliseconds(1);
        let cursor = row.next_scheduled_at.map_or(from, |cursor| cursor.utc());
        let (begin, after) = (cursor - moment, cursor.max(from) - moment);
        let left = row.max_fires.map_or(u64::MAX, |most| {
            // Its fires until then are counted in pieces, at worst several per day.
            let days = usize::try_from((after - begin).num_days()).unwrap_or_default();
            *looks = looks.saturating_sub(1 + days);
            let left = u64::try_from(most - row.fire_count).unwrap_or_default();
            left.saturating_sub(count(&timetable, begin, after))
        });
        Self { row, timetable, after, left }
    }
}

/// Fires that no calendar suppresses.
pub(super) fn count(timetable: &Timetable, after: DateTime<Utc>, until: DateTime<Utc>) -> u64 {
    timetable.count_allowed(after, until).unwrap_or_else(|| timetable.count(after, until))
}

/// The window's hours, filled while fires are counted.
struct HourGrid {
    hours: Vec<ForecastHour>,
    to: DateTime<Utc>,
    looks: usize,
    /// How long a run of each schedule takes; empty if no work is to be counted.
    durations: HashMap<Uuid, i64>,
}

impl HourGrid {
    /// This many hours of a zone's clock, beginning with the one that contains `from`.
    fn new(from: DateTime<Utc>, hours: u64, zone: &str) -> std::result::Result<Self, BadInput> {
        let mut all = Vec::with_capacity(usize::try_from(hours).unwrap_or_default());
        let mut to = from;
        for _ in 0..hours {
            let (at, end) = clock_hour(zone, to).ok_or_else(|| {
                let help = "use an IANA name such as Europe/Berlin; `timezones` lists them";
                BadInput::new("zone", zone, "is not a time zone", help)
            })?;
            all.push(ForecastHour {
                at: at.into(),
                fires: 0,
                schedules: 0,
                frequent_fires: 0,
                frequent_schedules: 0,
                work_ms: Long(0),
                frequent_work_ms: Long(0),
            });
            to = end;
        }
        Ok(Self { hours: all, to, looks: LOOKS, durations: HashMap::new() })
    }

    /// The number of the hour that contains an instant of the window, and its end.
    fn hour_of(&self, at: DateTime<Utc>) -> Option<(usize, DateTime<Utc>)> {
        let after = self.hours.partition_point(|hour| hour.at.0 <= at);
        let end = self.hours.get(after).map_or(self.to, |next| next.at.0);
        Some((after.checked_sub(1)?, end)).filter(|_| at < end)
    }

    /// Counts a schedule's fires; false if that would cost too much.
    fn add(&mut self, one: &FiresLeft, is_frequent: bool) -> bool {
        let moment = TimeDelta::milliseconds(1);
        let duration = self.durations.get(&one.row.id).copied().unwrap_or_default();
        let mut left = one.left.min(count(&one.timetable, one.after, self.to - moment));
        let mut after = one.after;
        while left > 0 {
            // Jumps to the hour of the next fire, skipping empty hours; a frequent schedule has none.
            let next = if is_frequent {
                after + moment
            } else {
                let Some(next) = one.timetable.next_allowed(after) else { break };
                next.at
            };
            let cost = if is_frequent { 1 } else { 2 };
            let Some(looks) = self.looks.checked_sub(cost) else { return false };
            self.looks = looks;
            let Some((index, end)) = self.hour_of(next) else { break };
            let Some(hour) = self.hours.get_mut(index) else { break };
            let end = end - moment;
            let fires = count(&one.timetable, next - moment, end).min(left);
            let schedules = u64::from(fires > 0);
            let work = duration.saturating_mul(i64::try_from(fires).unwrap_or(i64::MAX));
            hour.fires += fires;
            hour.schedules += schedules;
            hour.work_ms.0 = hour.work_ms.0.saturating_add(work);
            if is_frequent {
                hour.frequent_fires += fires;
                hour.frequent_schedules += schedules;
                hour.frequent_work_ms.0 = hour.frequent_work_ms.0.saturating_add(work);
            }
            left -= fires;
            after = end;
        }
        true
    }
}

/// The next fires of all schedules.
pub(super) async fn soonest(
    ahead: &[FiresLeft],
    to: DateTime<Utc>,
    wanted: usize,
) -> Vec<Calm<Upcoming>> {
    let next = |index: usize, after: DateTime<Utc>, nth: u64| {
        let one = ahead.get(index).filter(|one| nth < one.left)?;
        let fire = one.timetable.next_allowed(after).filter(|fire| fire.at < to)?;
        Some(Reverse((fire.at, index, nth)))
    };
    let mut heads = BinaryHeap::with_capacity(ahead.len());
    for (index, one) in ahead.iter().enumerate() {
        heads.extend(next(index, one.after, 0));
        tokio::task::yield_now().await;
    }
    let mut fires = Vec::with_capacity(wanted);
    while fires.len() < wanted {
        let Some(Reverse((at, index, nth))) = heads.pop() else { break };
        let Some(one) = ahead.get(index) else { break };
        let schedule = Schedule(one.row.clone());
        fires.push(Calm(Upcoming { at: at.into(), schedule }));
        heads.extend(next(index, at, nth + 1));
        tokio::task::yield_now().await;
    }
    fires
}
