//! The coming clock changes that affect schedules, and their effect on each of them. Computed by
//! the rule by which alert rules report clock changes.

use std::{collections::BTreeMap, sync::Arc};

use async_graphql::{Context, Object, SimpleObject};
use chrono::{DateTime, FixedOffset, TimeDelta, Utc};
use entity::schedule::Model;
use futures::future::join_all;
use timetable::Timetable;

use super::{
    calm::Calm,
    context::ContextExt,
    error::Result,
    filters::sought,
    page::{DECLARED, bounded, bounded_by, cost, search_cost},
    query::{usual, within},
    scalar::Instant,
    schedule::Schedule,
    timing::Timing,
};
use crate::{model::Spec, search::SearchedList, store::reads::schedules};

/// Maximum number of days to look ahead.
const DAYS: i32 = 366;
/// Maximum number of schedules examined: those that are due soonest.
const SCHEDULES: u64 = 5_000;
/// Maximum number of changes examined for one schedule. The clocks of most zones change twice a
/// year.
const OF_ONE: usize = 8;
/// Maximum number of changes in the answer.
const CHANGES: usize = 100;
/// The format of an instant on a zone's clock.
const ON_THE_CLOCK: &str = "%Y-%m-%dT%H:%M:%S%:z";

/// Queries of clock changes.
#[derive(Default)]
pub(super) struct ReadingClockChanges;

/// Queries of clock changes.
#[Object]
impl ReadingClockChanges {
    /// The coming clock changes that skip or repeat a time of an active schedule.
    #[graphql(
        complexity = "20_000 + search_cost(search.as_deref()) + cost(Some(first), None, child_complexity)"
    )]
    async fn clock_changes(
        &self,
        cx: &Context<'_>,
        #[graphql(default_with = "usual()", desc = "If null, all namespaces that you may see.")]
        namespace: Option<String>,
        #[graphql(
            desc = "Only schedules that match this search, in the language of docs/search.md."
        )]
        search: Option<String>,
        #[graphql(default = 366, desc = "How many days to look ahead, 1 to 366.")] days: i32,
        #[graphql(default = 50, desc = "How many schedules are listed for each change, 1 to 200.")]
        first: i32,
    ) -> Result<ClockChanges> {
        cx.viewer()?;
        let days = i64::try_from(bounded_by("days", days, DAYS)?).unwrap_or_default();
        let listed = usize::try_from(bounded("first", first)?).unwrap_or_default();
        let within = within(cx, namespace.as_deref()).await?;
        let search = sought(cx, &within, SearchedList::Schedules, search)?;
        let filter = schedules::Filter { search, ..schedules::Filter::default() };
        let mut rows =
            schedules::on_local_clocks(cx.store(), &within, &filter, SCHEDULES + 1).await?;
        let limit = usize::try_from(SCHEDULES).unwrap_or(usize::MAX);
        let mut is_complete = rows.len() <= limit;
        rows.truncate(limit);
        let schedules = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        let now = cx.commands().clock.now();
        let found = affected(cx, rows, now, now + TimeDelta::days(days)).await;
        is_complete &= found.len() <= CHANGES;
        let mut changes = Vec::with_capacity(found.len().min(CHANGES));
        for ((at, zone), affected) in found.into_iter().take(CHANGES) {
            changes.push(ClockChange::of(cx, at, zone, affected, listed).await?);
        }
        Ok(ClockChanges { changes, schedules, is_complete })
    }
}

/// The coming clock changes that affect schedules.
#[derive(SimpleObject)]
pub(super) struct ClockChanges {
    /// The changes, soonest first; at most 100.
    #[graphql(complexity = "DECLARED * child_complexity")]
    changes: Vec<ClockChange>,
    /// How many schedules were examined. Those in UTC are not, because its clock never changes.
    schedules: u32,
    /// False if there is too much to examine: then the schedules that are due last are left out.
    is_complete: bool,
}

/// A change of a zone's clock.
#[derive(SimpleObject)]
pub(super) struct ClockChange {
    /// The zone's IANA name.
    zone: String,
    /// When the clock changes.
    at: Instant,
    /// What the clock would show then without the change: 2026-03-29T02:00:00+01:00
    before: String,
    /// What the clock shows from then on: 2026-03-29T03:00:00+02:00
    after: String,
    /// How many schedules it affects.
    affected: u32,
    /// The first of these schedules, by name.
    schedules: Vec<Calm<ClockChangeEffect>>,
}

/// The effect of a clock change on a schedule.
#[derive(SimpleObject)]
pub(super) struct ClockChangeEffect {
    /// The schedule.
    schedule: Schedule,
    /// What happens to its times, by its policies: a sentence for each expression affected.
    effects: Vec<String>,
    /// The calendar that suppresses its fires at the instant of the change, if one does.
    suppressed_by: Option<String>,
}

/// A schedule, and the effects of a clock change on its times.
struct Affected {
    row: Arc<Model>,
    effects: Vec<String>,
}

/// The affected schedules, by the instant and the zone of the change.
async fn affected(
    cx: &Context<'_>,
    rows: Vec<Model>,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> BTreeMap<(DateTime<Utc>, String), Vec<Affected>> {
    let mut found = BTreeMap::<_, Vec<Affected>>::new();
    for row in rows {
        let definition = Spec::of(&row).timing.definition(row.id, row.anchor_at.utc());
        // A timing that can no longer be used does not fire: the schedule's warnings say why.
        if let Ok(timetable) = cx.commands().cache.timetable(&definition) {
            let row = Arc::new(row);
            for change in changes(&timetable, now, until) {
                let one = Affected { row: row.clone(), effects: change.effects };
                found.entry((change.at, row.zone.clone())).or_default().push(one);
            }
        }
        // Yield to other tasks, however many schedules there are.
        tokio::task::yield_now().await;
    }
    found
}

/// The clock changes that affect a timetable.
fn changes(
    timetable: &Timetable,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> impl Iterator<Item = timetable::ClockChange> {
    let next = move |last: &timetable::ClockChange| timetable.clock_change(last.at, until);
    std::iter::successors(timetable.clock_change(now, until), next).take(OF_ONE)
}

impl ClockChange {
    async fn of(
        cx: &Context<'_>,
        at: DateTime<Utc>,
        zone: String,
        mut affected: Vec<Affected>,
        listed: usize,
    ) -> Result<Self> {
        let count = u32::try_from(affected.len()).unwrap_or(u32::MAX);
        affected.sort_by_cached_key(|one| (one.row.name.to_lowercase(), one.row.id));
        affected.truncate(listed);
        let timings: Vec<_> = affected.iter().map(|one| Timing::of(&one.row)).collect();
        // All timetables at once, so that their calendars are read together.
        let timetables = join_all(timings.iter().map(|timing| timing.timetable(cx))).await;
        let mut schedules = Vec::with_capacity(affected.len());
        for (one, timetable) in affected.into_iter().zip(timetables) {
            let timetable = timetable?.ok();
            let calendar = timetable.as_ref().and_then(|timetable| timetable.suppressed_by(at));
            schedules.push(Calm(ClockChangeEffect {
                suppressed_by: calendar.map(|name| name.to_string()),
                schedule: Schedule(Arc::unwrap_or_clone(one.row)),
                effects: one.effects,
            }));
        }
        let (before, after) = readings(&zone, at);
        Ok(Self {
            zone,
            at: at.into(),
            before: before.format(ON_THE_CLOCK).to_string(),
            after: after.format(ON_THE_CLOCK).to_string(),
            affected: count,
            schedules,
        })
    }
}

/// An instant on a zone's clock, by its offset until then and by its offset from then on.
fn readings(zone: &str, at: DateTime<Utc>) -> (DateTime<FixedOffset>, DateTime<FixedOffset>) {
    let on_clock = |near: DateTime<Utc>| match timetable::wall_clock(zone, near) {
        Some((_, offset)) => at.with_timezone(&offset),
        None => at.fixed_offset(),
    };
    (on_clock(at - TimeDelta::seconds(1)), on_clock(at))
}
