//! What schedules did and will do in a range of time, side by side.
//!
//! - `lane`: one schedule's runs, fires without a run and upcoming fires
//! - `planned`: its upcoming fires
//! - `load`: how many runs were executed at once

mod lane;
mod load;
mod planned;

use std::collections::HashMap;

use async_graphql::{Context, Enum, Object};
use chrono::TimeDelta;
use entity::{Timestamp, schedule::Model};
use futures::future::join_all;

use self::{lane::TimelineLane, load::TimelineLoad, planned::planned};
use super::{
    context::ContextExt,
    error::Result,
    filters::sought,
    maintenance,
    page::{Connection, Paging, bounded_by, connection, cost_by, search_cost},
    query::{name_cursor, name_key, usual, within},
    scalar::Instant,
    sort::{number_cursor, number_key},
    upcoming::{FiresLeft, usual_durations},
};
use crate::{
    commands::BadInput,
    search::SearchedList,
    store::{
        Page,
        reads::{
            lane_history::{self, LaneHistory},
            schedules, sorted,
            timeline::{self, TimelineRange},
            within::Within,
        },
        schedules as rows,
    },
};

/// Maximum number of lanes in a page; the usual number of a list.
const MAX_LANES: i32 = 50;
/// The cost of finding and counting, in addition to the lanes.
const FOUND: usize = 10_000;
/// The cost of reading the executions of a range.
const EXECUTIONS: usize = 8_000;
/// Maximum length of the range in days.
const MAX_DAYS: i64 = 31;
/// How many days ahead the range may end.
const AHEAD: i64 = 366;

/// The order of the lanes. A cursor is valid only with the order that produced it.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimelineSort {
    /// By the schedule's name, ignoring case.
    Name,
    /// The schedules with the most runs that were created in the range come first.
    Busiest,
}

/// Queries of a range of time across schedules.
#[derive(Default)]
pub(super) struct ReadingTimeline;

/// Queries of a range of time across schedules.
#[Object]
impl ReadingTimeline {
    /// What the schedules of a namespace did and will do in a range of time: a lane for each
    /// schedule that has a run, a fire without a run or an upcoming fire in the range. A page may
    /// have fewer lanes than requested, because schedules whose upcoming fires are all outside the
    /// range are left out. Runs that were created more than a day before the range are left out once
    /// they have ended.
    #[graphql(
        complexity = "FOUND + search_cost(search.as_deref()) + cost_by(first.unwrap_or(MAX_LANES), MAX_LANES, child_complexity)"
    )]
    async fn timeline(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(
            desc = "Only schedules that match this search, in the language of docs/search.md."
        )]
        search: Option<String>,
        #[graphql(desc = "Start of the range, inclusive; not before 1970.")] from: Instant,
        #[graphql(
            desc = "End of the range, exclusive: at most 31 days after `from`, and at most a year \
                    ahead."
        )]
        to: Instant,
        #[graphql(default_with = "TimelineSort::Name", desc = "The order of the lanes.")]
        sort: TimelineSort,
        #[graphql(desc = "The page size, 1 to 50; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<TimelineLane>> {
        cx.viewer()?;
        bounded_by("first", first.unwrap_or(MAX_LANES), MAX_LANES)?;
        let within = within(cx, namespace.as_deref()).await?;
        let range = range(cx, from, to)?;
        let filter = filter(cx, &within, search)?;
        let paging = Paging::forward(first, after);
        match sort {
            TimelineSort::Name => {
                let window = paging.window(name_key)?;
                let page = timeline::page(cx.store(), &within, &filter, &range, &window).await?;
                let page = lanes(cx, page, &range).await?;
                Ok(connection(page, |lane| name_cursor(lane.id(), lane.name()), |lane| lane))
            }
            TimelineSort::Busiest => {
                let window = paging.window(number_key)?;
                let page =
                    timeline::page_by_runs(cx.store(), &within, &filter, &range, &window).await?;
                let runs: HashMap<_, _> = page.rows.iter().map(|(runs, id)| (*id, *runs)).collect();
                let page = lanes(cx, with_rows(cx, page).await?, &range).await?;
                let key = |lane: &TimelineLane| -> sorted::Key {
                    (runs.get(&lane.id()).copied().unwrap_or_default(), lane.id())
                };
                Ok(connection(page, |lane| number_cursor(key(lane)), |lane| lane))
            }
        }
    }

    /// How many runs of the schedules of a namespace were executed at once, for each step of a
    /// range of time.
    #[graphql(complexity = "EXECUTIONS + search_cost(search.as_deref()) + child_complexity")]
    async fn timeline_load(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(
            desc = "Only schedules that match this search, in the language of docs/search.md."
        )]
        search: Option<String>,
        #[graphql(desc = "Start of the range, inclusive; not before 1970.")] from: Instant,
        #[graphql(
            desc = "End of the range, exclusive: at most 31 days after `from`, and at most a year \
                    ahead."
        )]
        to: Instant,
    ) -> Result<TimelineLoad> {
        cx.viewer()?;
        let within = within(cx, namespace.as_deref()).await?;
        let range = range(cx, from, to)?;
        let filter = filter(cx, &within, search)?;
        let executions = if range.has_past() {
            timeline::executions(cx.store(), &within, &filter, &range).await?
        } else {
            Vec::new()
        };
        Ok(TimelineLoad::of(&executions, &range))
    }
}

/// The range of the request, if it is within the limits.
fn range(cx: &Context<'_>, from: Instant, to: Instant) -> Result<TimelineRange> {
    let now = cx.commands().clock.now();
    let range = TimelineRange { from: from.into(), until: to.into(), now: now.into() };
    let longest = TimeDelta::days(MAX_DAYS).num_milliseconds();
    let farthest = Timestamp::from(now + TimeDelta::days(AHEAD));
    let bad = |field: &str, at: Instant, problem: &str, help: String| -> Result<TimelineRange> {
        Err(BadInput::new(field, at.0.to_rfc3339(), problem, help).into())
    };
    if range.from.0 < 0 {
        return bad("from", from, "is before 1970", "give a later instant".to_owned());
    }
    if range.until <= range.from {
        return bad("to", to, "is not after 'from'", "give a later instant".to_owned());
    }
    if range.until > farthest {
        let help = format!("give an instant within {AHEAD} days from now");
        return bad("to", to, "is too far ahead", help);
    }
    if range.until.0 - range.from.0 > longest {
        let help = format!("give a range of at most {MAX_DAYS} days");
        return bad("to", to, "is too long after 'from'", help);
    }
    Ok(range)
}

fn filter(cx: &Context<'_>, within: &Within, search: Option<String>) -> Result<schedules::Filter> {
    let search = sought(cx, within, SearchedList::Schedules, search)?;
    Ok(schedules::Filter { search, ..schedules::Filter::default() })
}

/// The same page with the schedules in place of their keys.
async fn with_rows(cx: &Context<'_>, page: Page<sorted::Key>) -> Result<Page<Model>> {
    let ids: Vec<_> = page.rows.iter().map(|(_, id)| *id).collect();
    let found = rows::by_ids(cx.store().read(), &ids).await?;
    let mut found: HashMap<_, _> = found.into_iter().map(|row| (row.id, row)).collect();
    let rows = ids.iter().filter_map(|id| found.remove(id)).collect();
    let Page { has_previous, has_next, total, .. } = page;
    Ok(Page { rows, has_previous, has_next, total })
}

/// The lanes of a page of schedules. Those that have nothing in the range are left out.
async fn lanes(
    cx: &Context<'_>,
    page: Page<Model>,
    range: &TimelineRange,
) -> Result<Page<TimelineLane>> {
    let Page { rows, has_previous, has_next, total } = page;
    let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
    let mut histories = lane_history::histories(cx.store(), &ids, range).await?;
    let durations = if range.has_future() {
        usual_durations(cx, &rows, range.now.utc()).await?
    } else {
        HashMap::new()
    };
    let is_ahead = |row: &&Model| {
        let next = row.next_scheduled_at.filter(|next| *next < range.until);
        range.has_future() && row.enabled && next.is_some()
    };
    let ahead: Vec<&Model> = rows.iter().filter(is_ahead).collect();
    // All timetables at once, so that their calendars and windows are read together.
    let compiled = join_all(ahead.iter().map(|row| maintenance::timetable(cx, row))).await;
    let mut timetables = HashMap::with_capacity(ahead.len());
    for (row, timetable) in ahead.iter().zip(compiled) {
        if let Ok(timetable) = timetable? {
            timetables.insert(row.id, timetable);
        }
    }
    let last = ids.last().copied().filter(|_| has_next);
    let mut lanes = Vec::with_capacity(rows.len());
    for row in rows {
        let history = histories.remove(&row.id).unwrap_or_else(LaneHistory::complete);
        let usual_ms = durations.get(&row.id).copied();
        let plans = timetables.remove(&row.id).map(|timetable| {
            // What a page of lanes may cost is bounded, so the looks are not counted.
            let (begin, mut looks) = (range.from.max(range.now).utc(), usize::MAX);
            planned(&FiresLeft::new(row.clone(), timetable, begin, &mut looks), range, usual_ms)
        });
        let lane = TimelineLane::new(row, history, plans.unwrap_or_default(), usual_ms, range);
        // The next page begins after the last schedule of this one.
        if !lane.is_empty() || last == Some(lane.id()) {
            lanes.push(lane);
        }
        // Yield to other tasks, however many schedules there are.
        tokio::task::yield_now().await;
    }
    Ok(Page { rows: lanes, has_previous, has_next, total })
}
