use async_graphql::{Context, Object, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};
use entity::schedule::Model;
use futures::future::join_all;
use timetable::Timetable;
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    filters::sought,
    loaders::ScheduleRow,
    page::{DECLARED, bounded, cost_by, search_cost},
    query::namespace_id,
    scalar::{Instant, Long},
    schedule::Schedule,
    timing::Timing,
    timing_preview::PreviewFire,
};
use crate::{
    commands::{BadInput, CommandError},
    search::SearchedList,
    store::{
        reads::{schedules, within::Within},
        schedules as rows,
    },
};

/// Maximum number of schedules in one preview.
const MAX_SCHEDULES: usize = 100;
/// When the pause ends by default, and at the latest.
const USUAL: TimeDelta = TimeDelta::days(7);
const FARTHEST: TimeDelta = TimeDelta::days(366);
const MOMENT: TimeDelta = TimeDelta::milliseconds(1);

/// Previews of pauses.
#[derive(Default)]
pub(super) struct ReadingPauses;

/// Previews of pauses.
#[Object]
impl ReadingPauses {
    /// The fires that pausing schedules now would suppress. Selects schedules by their ids, or the
    /// first 100 that match a search. For the outcome of these fires after each way to resume, see
    /// `resumePreview` with `ifPaused`, and with `until` for each way in which the pause may end.
    #[graphql(complexity = "5_000 + search_cost(search.as_deref()) + DECLARED * child_complexity")]
    async fn pause_preview(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "1 to 100 schedules; omit it to give a search.")] ids: Option<Vec<Uuid>>,
        #[graphql(default = "default", desc = "The namespace to search.")] namespace: String,
        #[graphql(desc = "A search in the language of docs/search.md, such as `tag:billing`.")]
        search: Option<String>,
        #[graphql(desc = "When the pause ends: 7 days from now if absent, at most a year.")]
        until: Option<Instant>,
    ) -> Result<PausePreview> {
        cx.viewer()?;
        let now = cx.commands().clock.now();
        let until = end(until, now)?;
        let (rows, has_more) = match (ids, search) {
            (Some(ids), None) => (named(cx, &ids).await?, false),
            (None, Some(search)) => {
                let namespace = namespace_id(cx, &namespace).await?;
                found(cx, namespace, search).await?
            }
            (Some(_), Some(search)) => {
                let help = "give one of the two";
                return Err(
                    BadInput::new("search", search, "is given together with 'ids'", help).into()
                );
            }
            (None, None) => {
                let help = "give ids or a search";
                return Err(BadInput::new("ids", "", "are missing", help).into());
            }
        };
        PausePreview::of(cx, rows, has_more, now, until).await
    }
}

fn end(until: Option<Instant>, now: DateTime<Utc>) -> std::result::Result<DateTime<Utc>, BadInput> {
    let until = until.map_or(now + USUAL, |until| until.0);
    let bad =
        |problem: &str, help: &str| Err(BadInput::new("until", until.to_rfc3339(), problem, help));
    if until <= now {
        return bad("is past", "give an instant in the future, or leave it out");
    }
    if until > now + FARTHEST {
        return bad("is more than a year ahead", "give an earlier instant");
    }
    Ok(until)
}

/// The schedules with these ids, each of which must exist for the caller.
async fn named(cx: &Context<'_>, ids: &[Uuid]) -> Result<Vec<Model>> {
    if !(1..=MAX_SCHEDULES).contains(&ids.len()) {
        let help = format!("give 1 to {MAX_SCHEDULES}");
        return Err(BadInput::new("ids", ids.len(), "are too many or none", help).into());
    }
    let mut found = cx.rows().load_many(ids.iter().copied().map(ScheduleRow)).await?;
    let mut rows = Vec::with_capacity(ids.len());
    for id in ids {
        // A schedule whose id is given twice is listed once.
        let Some(row) = found.remove(&ScheduleRow(*id)) else {
            let is_twice = rows.iter().any(|row: &Model| row.id == *id);
            is_twice.then_some(()).ok_or_else(|| CommandError::not_found("schedule", *id))?;
            continue;
        };
        cx.at_home(Some(row.namespace_id), "schedule", *id)?;
        let is_there = row.deleted_at.is_none();
        is_there.then_some(()).ok_or_else(|| CommandError::not_found("schedule", *id))?;
        rows.push(row);
    }
    Ok(rows)
}

/// The first schedules that match a search, and whether there are more.
async fn found(cx: &Context<'_>, namespace: Uuid, search: String) -> Result<(Vec<Model>, bool)> {
    let within = Within::One(namespace);
    let search = sought(cx, &within, SearchedList::Schedules, Some(search))?;
    let filter = schedules::Filter { search, ..schedules::Filter::default() };
    let most = u64::try_from(MAX_SCHEDULES + 1).unwrap_or(u64::MAX);
    let mut ids = schedules::keys(cx.store(), &within, &filter, most).await?;
    let has_more = ids.len() > MAX_SCHEDULES;
    ids.truncate(MAX_SCHEDULES);
    let mut found = rows::by_ids(cx.store().read(), &ids).await?;
    found.sort_by_key(|row| ids.iter().position(|id| *id == row.id));
    Ok((found, has_more))
}

/// The fires that pausing schedules would suppress.
#[derive(SimpleObject)]
pub(super) struct PausePreview {
    /// The instant of the preview, at which the pause would begin.
    at: Instant,
    /// When the pause would end.
    until: Instant,
    /// How many instants of all schedules would fall into the pause.
    fires: Long,
    /// Whether more schedules match the search than are listed.
    has_more: bool,
    /// The schedules, each with the fires that it would lose.
    schedules: Vec<PausePreviewSchedule>,
}

/// The fires that pausing one schedule would suppress.
pub(super) struct PausePreviewSchedule {
    row: Model,
    /// None if the timing can no longer be used or has no fires left.
    timetable: Option<Timetable>,
    /// The pause covers instants after this one.
    after: DateTime<Utc>,
    until: DateTime<Utc>,
    fires: u64,
}

/// The fires that pausing one schedule would suppress.
#[Object]
impl PausePreviewSchedule {
    /// The schedule.
    async fn schedule(&self) -> Schedule {
        Schedule(self.row.clone())
    }

    /// How many of the schedule's instants would fall into the pause, not counting those that a
    /// calendar suppresses.
    async fn fires(&self) -> Long {
        self.fires.into()
    }

    /// The first of these instants: 1 to 200.
    #[graphql(complexity = "cost_by(first, 200, child_complexity)")]
    async fn sample(
        &self,
        #[graphql(default = 10, desc = "The number of entries, 1 to 200.")] first: i32,
    ) -> Result<Vec<PreviewFire>> {
        let wanted = bounded("first", first)?.min(self.fires);
        let Some(timetable) = &self.timetable else { return Ok(vec![]) };
        let mut after = self.after;
        let mut fires = Vec::new();
        for _ in 0..wanted {
            let Some(fire) = timetable.next_allowed(after) else { break };
            after = fire.at;
            fires.push(PreviewFire::of(timetable, fire));
        }
        Ok(fires)
    }

    /// The first instant after the pause.
    async fn next_fire_at(&self) -> Option<Instant> {
        // Fires that were skipped in advance may reach beyond the pause.
        let after = self.after.max(self.until - MOMENT);
        let next = self.timetable.as_ref()?.next_allowed(after)?;
        Some(next.at.into())
    }
}

impl PausePreview {
    async fn of(
        cx: &Context<'_>,
        rows: Vec<Model>,
        has_more: bool,
        at: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Self> {
        let timings: Vec<_> = rows.iter().map(Timing::of).collect();
        // All timetables at once, so that their calendars are read together.
        let timetables = join_all(timings.iter().map(|timing| timing.timetable(cx))).await;
        let mut schedules = Vec::with_capacity(rows.len());
        for (row, timetable) in rows.into_iter().zip(timetables) {
            let timetable = timetable?.ok().filter(|_| row.next_scheduled_at.is_some());
            schedules.push(PausePreviewSchedule::of(row, timetable, at, until));
            // Yield to other tasks, however many schedules there are.
            tokio::task::yield_now().await;
        }
        let fires: u64 = schedules.iter().map(|one| one.fires).sum();
        Ok(Self { at: at.into(), until: until.into(), fires: fires.into(), has_more, schedules })
    }
}

impl PausePreviewSchedule {
    fn of(
        row: Model,
        timetable: Option<Timetable>,
        at: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Self {
        // Instants before the cursor are already decided.
        let cursor = row.next_scheduled_at.map_or(at, |cursor| cursor.utc());
        let after = at.max(cursor - MOMENT);
        let left = row.max_fires.map_or(u64::MAX, |most| {
            u64::try_from(most.saturating_sub(row.fire_count)).unwrap_or_default()
        });
        let within = |timetable: &Timetable| {
            let end = until - MOMENT;
            let allowed = timetable.count_allowed(after, end);
            allowed.unwrap_or_else(|| timetable.count(after, end)).min(left)
        };
        let fires = timetable.as_ref().map_or(0, within);
        Self { row, timetable, after, until, fires }
    }
}
