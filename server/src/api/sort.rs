//! The order of lists that can be sorted.

use std::collections::HashMap;

use async_graphql::{Context, Enum, InputObject};
use chrono::TimeDelta;
use entity::{Timestamp, schedule};
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    page::{Connection, Paging, connection, is_only_counted},
    query::{name_cursor, name_key},
    run::Run,
    schedule::Schedule,
    schedule_stats::USUAL,
};
use crate::{
    commands::BadInput,
    model::percentile,
    store::{
        Page, PageWindow, Total,
        reads::{
            runs::{self, ByFigure},
            schedule_stats,
            schedules::{self, ByTime},
            sorted::{self, no_number},
            within::Within,
        },
        schedules as rows,
    },
};

/// How schedules are sorted. A cursor is valid only with the sort order that produced it.
#[derive(InputObject, Clone, Copy)]
pub(crate) struct ScheduleSort {
    /// What to sort by.
    by: ScheduleSortField,
    /// Whether to sort in descending order. Rows without a value come last in either order.
    #[graphql(default)]
    descending: bool,
}

/// The field that schedules are sorted by.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScheduleSortField {
    /// The name, ignoring case.
    Name,
    /// The next instant of the timing; a paused schedule has none.
    Next,
    /// The last instant that the ledger accounts for.
    Last,
    /// The 95th percentile of the durations that `stats` returns without arguments. Only for lists
    /// of at most 1,000 schedules: narrow longer ones first.
    P95,
}

/// How runs are sorted: the newest 10,000 that match. A cursor is valid only with the sort order
/// that produced it.
#[derive(InputObject, Clone, Copy)]
pub(crate) struct RunSort {
    /// What to sort by.
    by: RunSortField,
    /// Whether to sort in descending order. Rows without a value come last in either order.
    #[graphql(default = true)]
    descending: bool,
}

/// The field that runs are sorted by.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "ByFigure")]
pub(crate) enum RunSortField {
    /// The time of the first start.
    Started,
    /// The time from start to end, for runs that have ended.
    Duration,
}

/// The cost of sorting a list, in addition to its rows.
pub(super) fn sort_cost(is_sorted: bool) -> usize {
    if is_sorted { 2_000 } else { 0 }
}

/// Maximum number of schedules that can be sorted by their durations.
const MAX_BY_P95: u64 = 1_000;

/// A page of schedules in this order.
pub(super) async fn schedules_page(
    cx: &Context<'_>,
    within: &Within,
    filter: &schedules::Filter,
    sort: Option<ScheduleSort>,
    paging: Paging,
) -> Result<Connection<Schedule>> {
    let name = ScheduleSort { by: ScheduleSortField::Name, descending: false };
    let ScheduleSort { by, descending } = sort.unwrap_or(name);
    let by = match by {
        ScheduleSortField::Next => ByTime::Next,
        ScheduleSortField::Last => ByTime::Last,
        ScheduleSortField::Name => {
            let window = paging.window(name_key)?;
            let page = if is_only_counted(cx) {
                schedules::length(cx.store(), within, filter)
            } else {
                schedules::page(cx.store(), within, filter, descending, &window).await?
            };
            return Ok(connection(page, |row| name_cursor(row.id, &row.name), Schedule));
        }
        ScheduleSortField::P95 => {
            let window = paging.window(number_key)?;
            let page = page_by_p95(cx, within, filter, descending, &window).await?;
            return Ok(connection(page, |row| number_cursor(row.0), |row| Schedule(row.1)));
        }
    };
    let window = paging.window(number_key)?;
    let page = schedules::page_by_time(cx.store(), within, filter, by, descending, &window).await?;
    Ok(connection(page, |row| number_cursor(by.key(row, descending)), Schedule))
}

/// A page of runs in this order.
pub(super) async fn runs_page(
    cx: &Context<'_>,
    within: &Within,
    filter: &runs::Filter,
    sort: Option<RunSort>,
    paging: Paging,
) -> Result<Connection<Run>> {
    let Some(RunSort { by, descending }) = sort else {
        let window = paging.window(|text| Uuid::try_parse(text).ok())?;
        let page = runs::page(cx.store(), within, filter, &window).await?;
        return Ok(connection(page, |row| row.id.simple().to_string(), Run));
    };
    let (by, window) = (ByFigure::from(by), paging.window(number_key)?);
    let page = runs::page_by_figure(cx.store(), within, filter, by, descending, &window).await?;
    Ok(connection(page, |row| number_cursor(by.key(row, descending)), Run))
}

/// Schedules sorted by the 95th percentile of their durations. The database does not store it, so
/// all schedules that match the filter are sorted here.
async fn page_by_p95(
    cx: &Context<'_>,
    within: &Within,
    filter: &schedules::Filter,
    descending: bool,
    window: &PageWindow<sorted::Key>,
) -> Result<Page<(sorted::Key, schedule::Model)>> {
    let store = cx.store();
    let ids = schedules::keys(store, within, filter, MAX_BY_P95 + 1).await?;
    if u64::try_from(ids.len()).is_ok_and(|found| found > MAX_BY_P95) {
        let problem = format!("sorts more than {MAX_BY_P95} schedules by their durations");
        let help = "narrow the list by a filter or a search, or sort it otherwise";
        return Err(BadInput::new("sort.by", "P95", problem, help).into());
    }
    let now = cx.commands().clock.now();
    let most = schedule_stats::MAX_RUNS;
    let figures = schedule_stats::of_schedules(
        store,
        &ids,
        Timestamp::from(now - USUAL),
        Timestamp::from(now + TimeDelta::seconds(1)),
        most,
    )
    .await?;
    let key = |id: &Uuid| {
        let p95 = figures.get(id).and_then(|one| percentile(&one.durations, 95));
        (p95.unwrap_or(no_number(descending)), *id)
    };
    let total = i64::try_from(ids.len()).unwrap_or(i64::MAX);
    let mut keys: Vec<_> = ids.iter().map(key).collect();
    keys.sort_unstable();
    if descending {
        keys.reverse();
    }
    let is_after = |one: &sorted::Key, other: sorted::Key| {
        if descending { *one < other } else { *one > other }
    };
    keys.retain(|one| {
        window.after.is_none_or(|key| is_after(one, key))
            && window.before.is_none_or(|key| *one != key && !is_after(one, key))
    });
    if window.from_end {
        keys.reverse();
    }
    keys.truncate(usize::try_from(window.reach()).unwrap_or(usize::MAX));
    let shown: Vec<Uuid> = keys.iter().map(|(_, id)| *id).collect();
    let found = rows::by_ids(store.read(), &shown).await?;
    let mut found: HashMap<_, _> = found.into_iter().map(|row| (row.id, row)).collect();
    let shown = keys.into_iter().filter_map(|key| Some((key, found.remove(&key.1)?)));
    Ok(window.page(shown.collect()).counted(|| Total::Known(total)))
}

pub(super) fn number_cursor((number, id): sorted::Key) -> String {
    format!("{number}.{}", id.simple())
}

pub(super) fn number_key(text: &str) -> Option<sorted::Key> {
    let (number, id) = text.split_once('.')?;
    Some((number.parse().ok()?, Uuid::try_parse(id).ok()?))
}
