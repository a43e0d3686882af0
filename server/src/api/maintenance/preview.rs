use async_graphql::{Context, Object};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{maintenance_window, schedule::Model};
use futures::future::join_all;
use timetable::Timetable;
use uuid::Uuid;

use super::window::MaintenanceWindow;
use crate::{
    api::{
        context::ContextExt,
        error::Result,
        page::{DECLARED, bounded_by, cost_by},
        query::namespace_id,
        scalar::Long,
        schedule::Schedule,
        timing::Timing,
        upcoming::{count, soonest_rows},
    },
    commands::WindowSpec,
    store::{
        PageWindow, maintenance,
        reads::{
            schedules::{self, ScheduleStatus},
            within::Within,
        },
    },
};

/// How many schedules, and how many overlapping windows, a preview lists.
const SAMPLE: i32 = 10;
const LISTED: u64 = 10;
const MOMENT: TimeDelta = TimeDelta::milliseconds(1);

/// The effect that a maintenance window would have.
pub(crate) struct MaintenancePreview {
    schedule_count: i64,
    already_paused: i64,
    sample: Vec<Model>,
    fire_count: u64,
    is_fire_count_complete: bool,
    overlapping: Vec<maintenance_window::Model>,
}

/// The effect that a maintenance window would have.
#[Object]
impl MaintenancePreview {
    /// How many schedules match the search; counting stops at 10,000.
    async fn schedule_count(&self) -> i64 {
        self.schedule_count
    }

    /// How many of them are paused now: a pause that lasts until the window begins is left alone.
    async fn already_paused(&self) -> i64 {
        self.already_paused
    }

    /// The first of the schedules, by name.
    #[graphql(complexity = "cost_by(first, SAMPLE, child_complexity)")]
    async fn sample(
        &self,
        #[graphql(default = 10, desc = "The number of entries, 1 to 10.")] first: i32,
    ) -> Result<Vec<Schedule>> {
        let wanted = bounded_by("first", first, SAMPLE)?;
        let wanted = usize::try_from(wanted).unwrap_or_default();
        Ok(self.sample.iter().take(wanted).cloned().map(Schedule).collect())
    }

    /// How many fires of the schedules that are not paused fall into the window.
    async fn fire_count(&self) -> Long {
        self.fire_count.into()
    }

    /// False if there is too much to count: then there are more fires than `fireCount`.
    async fn is_fire_count_complete(&self) -> bool {
        self.is_fire_count_complete
    }

    /// Other windows of the namespace, planned or active, that overlap this one; at most 10.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn overlapping(&self) -> Vec<MaintenanceWindow> {
        self.overlapping.iter().cloned().map(MaintenanceWindow).collect()
    }
}

impl MaintenancePreview {
    pub(super) async fn of(
        cx: &Context<'_>,
        spec: WindowSpec,
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
        let filter = schedules::Filter { search, ..schedules::Filter::default() };
        let paused = schedules::Filter { standing: Some(ScheduleStatus::Paused), ..filter.clone() };
        let page = PageWindow::first(LISTED);
        let sample = schedules::page(cx.store(), &within, &filter, false, &page).await?;
        let (schedule_count, already_paused) =
            (length(cx, &within, &filter).await?, length(cx, &within, &paused).await?);
        let (rows, is_complete) = soonest_rows(cx, &within, window.search.clone()).await?;
        let (from, until) = (window.starts_at.utc(), window.ends_at.utc());
        let fires = fires_of(cx, rows, from, until).await?;
        let (read, begin, end) = (cx.store().read(), window.starts_at, window.ends_at);
        let overlapping = maintenance::overlapping(read, namespace, begin, end, changed, LISTED);
        Ok(Self {
            schedule_count,
            already_paused,
            sample: sample.rows,
            fire_count: fires,
            is_fire_count_complete: is_complete,
            overlapping: overlapping.await?,
        })
    }
}

async fn length(cx: &Context<'_>, within: &Within, filter: &schedules::Filter) -> Result<i64> {
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
