use async_graphql::{Context, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};
use entity::schedule::Model;
use futures::future::join_all;
use timetable::Timetable;
use uuid::Uuid;

use super::window::MaintenanceWindow;
use crate::{
    api::{
        context::ContextExt,
        error::Result,
        page::DECLARED,
        query::namespace_id,
        scalar::Long,
        schedule::Schedule,
        timing::Timing,
        upcoming::{count, soonest_rows},
    },
    commands::MaintenanceSpec,
    store::{
        PageWindow, maintenance,
        reads::{
            schedules::{self, Filter, ScheduleStatus},
            within::Within,
        },
    },
};

/// How many schedules, and how many overlapping windows, a preview lists.
const SAMPLE: u64 = 10;
const MOMENT: TimeDelta = TimeDelta::milliseconds(1);

/// The effect that a maintenance window would have.
#[derive(SimpleObject)]
pub(crate) struct MaintenancePreview {
    /// How many schedules match the search; counting stops at 10,000.
    schedule_count: i64,
    /// How many of them are paused now: a pause that lasts until the window begins is left alone.
    already_paused: i64,
    /// The first of the schedules by name; at most 10.
    #[graphql(complexity = "DECLARED * child_complexity")]
    sample: Vec<Schedule>,
    /// How many fires of the schedules that are not paused fall into the window.
    fire_count: Long,
    /// False if there is too much to count: then there are more fires than `fireCount`.
    is_fire_count_complete: bool,
    /// Other windows of the namespace, planned or active, that overlap this one; at most 10.
    #[graphql(complexity = "DECLARED * child_complexity")]
    overlapping: Vec<MaintenanceWindow>,
}

impl MaintenancePreview {
    pub(super) async fn of(
        cx: &Context<'_>,
        spec: MaintenanceSpec,
        changed: Option<Uuid>,
    ) -> Result<Self> {
        let namespace = namespace_id(cx, &spec.namespace).await?;
        let current = match changed {
            Some(id) => {
                let row = maintenance::by_id(cx.store().read(), id).await?;
                cx.at_home(row.as_ref().map(|row| row.namespace_id), "maintenance window", id)?;
                row
            }
            None => None,
        };
        let window = cx.commands().check_maintenance(&spec, current.as_ref())?;
        let within = Within::One(namespace);
        let search = window.sought(&cx.commands().clock)?;
        let filter = Filter { search, ..Filter::default() };
        let paused = Filter { standing: Some(ScheduleStatus::Paused), ..filter.clone() };
        let page = PageWindow::first(SAMPLE);
        let sample = schedules::page(cx.store(), &within, &filter, false, &page).await?;
        let sample = sample.rows.into_iter().map(Schedule).collect();
        let (schedule_count, already_paused) =
            (length(cx, &within, &filter).await?, length(cx, &within, &paused).await?);
        let (rows, is_complete) = soonest_rows(cx, &within, window.search.clone()).await?;
        let (from, until) = (window.starts_at.utc(), window.ends_at.utc());
        let fires = fires_of(cx, rows, from, until).await?;
        let range = (window.starts_at, window.ends_at);
        let read = cx.store().read();
        let overlapping = maintenance::overlapping(read, namespace, range, changed, SAMPLE).await?;
        Ok(Self {
            schedule_count,
            already_paused,
            sample,
            fire_count: fires.into(),
            is_fire_count_complete: is_complete,
            overlapping: overlapping.into_iter().map(MaintenanceWindow).collect(),
        })
    }
}

async fn length(cx: &Context<'_>, within: &Within, filter: &Filter) -> Result<i64> {
    match schedules::length(cx.store(), within, filter).total {
        Some(total) => Ok(cx.store().total(&total).await?),
        None => Ok(0),
    }
}

/// How many fires these schedules have from one instant (inclusive) to another (exclusive).
async fn fires_of(
    cx: &Context<'_>,
    rows: Vec<Model>,
    from: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<u64> {
    let timings: Vec<_> = rows.iter().map(Timing::of).collect();
    // All timetables at once, so that their calendars are read together.
    let timetables = join_all(timings.iter().map(|timing| timing.timetable(cx))).await;
    let mut fires: u64 = 0;
    for (row, timetable) in rows.iter().zip(timetables) {
        if let Ok(timetable) = timetable? {
            fires = fires.saturating_add(fires_in(row, &timetable, from, until));
        }
        // Yield to other tasks, however many schedules there are.
        tokio::task::yield_now().await;
    }
    Ok(fires)
}

fn fires_in(row: &Model, timetable: &Timetable, from: DateTime<Utc>, until: DateTime<Utc>) -> u64 {
    // Instants before the cursor are already decided.
    let cursor = row.next_scheduled_at.map_or(from, |cursor| cursor.utc());
    let (after, end) = (from.max(cursor) - MOMENT, until - MOMENT);
    let left = row.max_fires.map_or(u64::MAX, |most| {
        let left = u64::try_from(most.saturating_sub(row.fire_count)).unwrap_or_default();
        left.saturating_sub(count(timetable, cursor - MOMENT, after))
    });
    count(timetable, after, end).min(left)
}
