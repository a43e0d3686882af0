//! A schedule as the API shows it.

use async_graphql::{Context, ID, Object};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, schedule};

use super::{
    calendar::Calendar,
    calm::Calm,
    context::ContextExt,
    error::Result,
    fire::Fire,
    fire_day::{self, Coming, FireDay},
    group::group_name,
    loaders::{BufferSize, CalendarRow, DayTally, LastRun, LiveRuns, NamespaceName, NewestFires},
    maintenance::{self, PlannedPause},
    page::{Connection, DECLARED, Paging, bounded_by, connection, cost, cost_by},
    people::settings::favourites,
    ping::Ping,
    resume::{ResumeRow, page_of},
    run::Run,
    scalar::{Instant, Long},
    schedule_policy::{Misfire, OverlapPolicy},
    schedule_state::{Pause, ScheduleState, fires_left},
    schedule_stats::{self, ScheduleStats},
    schedule_version::ScheduleVersion,
    slots::{self, SlotAccount},
    tally::Tally,
    timing::{self, COMPILED, Timing},
    timing_preview::{self, PreviewFire},
    workflow::Workflow,
};
use crate::{
    commands::secrets,
    store::{buffers, schedules},
};

/// When to run: timing, policies and context for a workflow.
pub(crate) struct Schedule(pub(crate) schedule::Model);

/// When to run: timing, policies and context for a workflow.
#[Object]
impl Schedule {
    pub(crate) async fn id(&self) -> ID {
        self.0.id.into()
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    async fn name(&self) -> &str {
        &self.0.name
    }

    /// A note for the people who operate the schedule.
    async fn note(&self) -> &str {
        &self.0.note
    }

    /// The schedule's tags, for searching and grouping.
    async fn tags(&self) -> &[String] {
        &self.0.tags.0
    }

    /// The number of the current version, from 1.
    async fn version(&self) -> i32 {
        self.0.version
    }

    /// Whether the schedule will fire.
    async fn state(&self) -> ScheduleState {
        ScheduleState::of(&self.0)
    }

    /// Null unless the schedule is paused.
    async fn pause(&self) -> Option<Pause> {
        Pause::of(&self.0)
    }

    /// The pause that the next maintenance window will begin; null if none is planned for it.
    async fn planned_pause(&self, cx: &Context<'_>) -> Result<Option<PlannedPause>> {
        PlannedPause::of(cx, &self.0).await
    }

    /// When it is due.
    async fn timing(&self) -> Timing {
        Timing::of(&self.0)
    }

    /// The workflow that the schedule runs.
    async fn workflow(&self, cx: &Context<'_>) -> Result<Workflow> {
        Workflow::load(cx, self.0.workflow_id, None).await
    }

    /// What to do about missed fires.
    async fn misfire(&self) -> Misfire {
        Misfire::of(&self.0)
    }

    /// What to do about a fire while a run is alive.
    async fn overlap(&self) -> OverlapPolicy {
        self.0.overlap.into()
    }

    /// Only for BUFFER_ALL: the maximum number of waiting fires.
    async fn buffer_limit(&self) -> Option<i32> {
        self.0.buffer_limit
    }

    /// The fires that wait for a blocking run to settle, in the order in which they will start; at
    /// most 1000.
    #[graphql(complexity = "cost_by(first, 1_000, child_complexity)")]
    async fn buffer(
        &self,
        cx: &Context<'_>,
        #[graphql(default = 50, desc = "The number of entries, 1 to 1000.")] first: i32,
    ) -> Result<Vec<Fire>> {
        let limit = bounded_by("first", first, 1_000)?;
        let rows = buffers::queue(cx.store().read(), self.0.id, limit).await?;
        Ok(rows.into_iter().map(Fire).collect())
    }

    /// How many fires wait in the buffer.
    async fn buffer_size(&self, cx: &Context<'_>) -> Result<i64> {
        Ok(cx.rows().load_one(BufferSize(self.0.id)).await?.unwrap_or(0))
    }

    /// The fires that have fallen into the schedule's pause so far, as the ledger will show them if
    /// the pause ends on its own and `missed` decides about them. They are not in the ledger yet.
    /// Empty unless the schedule is paused; at most the first 10,000. `resumePreview` shows the
    /// alternatives.
    #[graphql(complexity = "timing::PREVIEW + cost(first, None, child_complexity)")]
    async fn paused_fires(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<ResumeRow>> {
        if self.0.enabled {
            return page_of(&[], first, after);
        }
        let fires = cx.commands().paused_fires(&cx.viewer()?, self.0.id).await?;
        page_of(&fires, first, after)
    }

    /// The concurrency group whose limit the schedule's runs share.
    async fn group(&self, cx: &Context<'_>) -> Result<Option<String>> {
        group_name(cx, self.0.group_id).await
    }

    /// From -100 to 100. Among waiting runs, those with a higher priority are taken first.
    async fn priority(&self) -> i32 {
        self.0.priority.into()
    }

    /// A fire that has not started this long after it was due is skipped; null for no deadline.
    async fn start_deadline_seconds(&self) -> Option<i64> {
        self.0.start_deadline_ms.map(|ms| ms / 1_000)
    }

    /// The JSON object that travels with each run. Values whose names suggest secrets are masked;
    /// for callers who may not see payloads, all of it is.
    async fn context(&self, cx: &Context<'_>) -> serde_json::Value {
        cx.payload(self.0.namespace_id, secrets::masked_json(&self.0.context))
    }

    /// The calendars, in the order in which they are applied; at most 8.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn calendars(&self, cx: &Context<'_>) -> Result<Vec<Calendar>> {
        let Some(keys) = &self.0.calendars else { return Ok(vec![]) };
        let mut rows = cx.rows().load_many(keys.0.iter().copied().map(CalendarRow)).await?;
        let found = keys.0.iter().filter_map(|id| rows.remove(&CalendarRow(*id)));
        Ok(found.map(Calendar).collect())
    }

    /// The schedule is exhausted after this many started fires.
    async fn max_fires(&self) -> Option<i64> {
        self.0.max_fires
    }

    /// How many of the schedule's fires have started, or were claimed to start. Skipped, missed and
    /// collapsed fires and manual runs do not count.
    async fn fire_count(&self) -> Long {
        self.0.fire_count.into()
    }

    /// For how many days settled history is kept; null inherits the namespace's setting.
    async fn retention_days(&self) -> Option<i32> {
        self.0.retention_days
    }

    /// The external watchdog that the schedule calls, so that someone notices when its runs stop
    /// succeeding.
    async fn ping(&self) -> Option<Ping> {
        Ping::of(&self.0)
    }

    /// The next instant of the timing that no calendar suppresses; null while the schedule is
    /// paused.
    async fn next_fire_at(&self, cx: &Context<'_>) -> Result<Option<Instant>> {
        Ok(self.next_fire(cx).await?.map(Into::into))
    }

    /// The last instant of the timing that the ledger accounts for.
    async fn last_fire_at(&self) -> Option<Instant> {
        self.0.last_fire_at.map(Into::into)
    }

    /// The next instants of the schedule's timing after `from`, paused or not. Without `from`, the
    /// next instants after now, without those that are already decided, such as fires skipped in
    /// advance.
    #[graphql(complexity = "COMPILED + cost(Some(count), None, child_complexity)")]
    async fn next_fires(
        &self,
        cx: &Context<'_>,
        #[graphql(default = 10, desc = "The number of fires, 1 to 200.")] count: i32,
        #[graphql(
            desc = "Only fires after this instant; if absent, after now, without those already \
                    decided."
        )]
        from: Option<Instant>,
    ) -> Result<Vec<PreviewFire>> {
        let now = cx.commands().clock.now();
        let left = fires_left(&self.0).filter(|_| from.is_none());
        let from = from.map_or_else(|| self.decided_until(now), |from| from.0);
        match maintenance::timetable(cx, &self.0).await? {
            Ok(timetable) => {
                let fires = timing_preview::next(&timetable, from, count)?;
                Ok(match left {
                    Some(left) => timing_preview::next_of(fires, left),
                    None => fires,
                })
            }
            // The warnings explain the failure.
            Err(_) => Ok(vec![]),
        }
    }

    /// How often the schedule's timing fires on each of the next days of its zone, today first,
    /// paused or not. Today counts only fires after now; those that are already decided, such as
    /// fires skipped in advance, do not count. Fewer days than requested if calendars have too many
    /// windows to count.
    #[graphql(
        complexity = "COMPILED + cost_by(count, fire_day::MAX_DAYS, fire_day::COST + child_complexity)"
    )]
    async fn fire_days(
        &self,
        cx: &Context<'_>,
        #[graphql(default = 90, desc = "The number of days, 1 to 366.")] count: i32,
    ) -> Result<Vec<FireDay>> {
        let count = bounded_by("count", count, fire_day::MAX_DAYS)?;
        let now = cx.commands().clock.now();
        // If it cannot be compiled, the warnings explain the failure.
        let Ok(timetable) = maintenance::timetable(cx, &self.0).await? else { return Ok(vec![]) };
        let coming = Coming {
            timetable: &timetable,
            zone: &self.0.zone,
            after: self.decided_until(now),
            left: fires_left(&self.0),
        };
        Ok(coming.days(now, count))
    }

    /// The run that was created last.
    async fn last_run(&self, cx: &Context<'_>) -> Result<Option<Run>> {
        Ok(cx.rows().load_one(LastRun(self.0.id)).await?.map(Run))
    }

    /// The schedule's newest fires, newest first; at most 60. For a page of schedules, they are
    /// read together.
    #[graphql(complexity = "cost_by(first, 60, child_complexity)")]
    async fn recent_fires(
        &self,
        cx: &Context<'_>,
        #[graphql(default = 40, desc = "The number of entries, 1 to 60.")] first: i32,
    ) -> Result<Vec<Calm<Fire>>> {
        let limit = bounded_by("first", first, 60)?;
        let rows = cx.rows().load_one(NewestFires(self.0.id, limit)).await?.unwrap_or_default();
        Ok(rows.into_iter().map(Fire).map(Calm).collect())
    }

    /// Statistics of the schedule's runs created from `from` up to `until`; the last 7 days by
    /// default.
    #[graphql(complexity = "schedule_stats::COST + child_complexity")]
    async fn stats(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "Inclusive; 7 days before `until` if absent.")] from: Option<Instant>,
        #[graphql(desc = "Exclusive; now if absent.")] until: Option<Instant>,
    ) -> Result<ScheduleStats> {
        ScheduleStats::of(cx, self.0.id, from, until).await
    }

    /// The outcome of the schedule's due instants from `from` up to `until` (the last 7 days by
    /// default), and the interval that its runs would fit in.
    #[graphql(complexity = "slots::COST + child_complexity")]
    async fn slots(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "Inclusive; 7 days before `until` if absent.")] from: Option<Instant>,
        #[graphql(desc = "Exclusive; now if absent.")] until: Option<Instant>,
    ) -> Result<SlotAccount> {
        SlotAccount::of(cx, &self.0, from, until).await
    }

    /// The number of the schedule's runs that have not settled.
    async fn live_runs(&self, cx: &Context<'_>) -> Result<Long> {
        Ok(cx.rows().load_one(LiveRuns(self.0.id)).await?.unwrap_or(0).into())
    }

    /// Counts over the last 24 hours, recounted at most every 15 seconds.
    async fn tally(&self, cx: &Context<'_>) -> Result<Tally> {
        Ok(cx.rows().load_one(DayTally(self.0.id)).await?.unwrap_or_default().into())
    }

    /// The schedule's definitions, newest first.
    // The cost of one statement per schedule of a list.
    #[graphql(complexity = "500 + cost(first, None, child_complexity)")]
    async fn versions(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
        #[graphql(desc = "Only the version with this number and earlier ones.")] up_to: Option<i32>,
    ) -> Result<Connection<ScheduleVersion>> {
        let window = Paging::forward(first, after).window(|text| text.parse().ok())?;
        let page = schedules::versions(cx.store().read(), self.0.id, up_to, &window).await?;
        let shown = cx.sees_payloads(self.0.namespace_id);
        let version = |row| ScheduleVersion::shown(row, shown);
        Ok(connection(page, |row| row.version.to_string(), version))
    }

    /// Whether the schedule is among the caller's favourites; false for a token.
    async fn is_favourite(&self, cx: &Context<'_>) -> Result<bool> {
        Ok(favourites(cx).await?.contains(&self.0.id))
    }

    /// The module file that declares the schedule, if one does.
    async fn module(&self) -> Option<&str> {
        self.0.module.as_deref()
    }

    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }

    async fn updated_at(&self) -> Instant {
        self.0.updated_at.into()
    }

    /// When the schedule was deleted; null unless it is reached from a run or a fire that it had
    /// before.
    async fn deleted_at(&self) -> Option<Instant> {
        self.0.deleted_at.map(Into::into)
    }
}

impl Schedule {
    /// The next instant of the timing that no calendar suppresses; None while it is paused.
    pub(super) async fn next_fire(&self, cx: &Context<'_>) -> Result<Option<DateTime<Utc>>> {
        let Some(cursor) = self.0.next_scheduled_at.filter(|_| self.0.enabled) else {
            return Ok(None);
        };
        if self.0.calendars.is_none() && self.0.pause_from.is_none() {
            return Ok(Some(cursor.utc()));
        }
        let before = cursor.utc() - TimeDelta::milliseconds(1);
        let timetable = maintenance::timetable(cx, &self.0).await?;
        let next = timetable.ok().and_then(|timetable| timetable.next_allowed(before));
        Ok(next.map(|fire| fire.at))
    }

    /// The instant up to which its fires are decided: now, or later if fires were skipped in
    /// advance.
    fn decided_until(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        let before = |at: Timestamp| at.utc().checked_sub_signed(TimeDelta::milliseconds(1));
        let cursor = self.0.next_scheduled_at.and_then(before);
        cursor.map_or(now, |cursor| cursor.max(now))
    }
}
