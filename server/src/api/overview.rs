use async_graphql::{Context, Object, SimpleObject};
use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, schedule::Model};
use futures::future::join_all;

use super::{
    calm::Calm,
    context::ContextExt,
    error::Result,
    maintenance,
    metrics::Executions,
    node::{NODES, Node},
    page::{bounded, cost},
    run::Run,
    scalar::{Instant, Long},
    schedule::Schedule,
    upcoming::{FiresLeft, soonest},
};
use crate::store::reads::{overview, stats, within::Within};

/// Maximum number of schedules that are examined for the next fires: those that are due soonest.
const SCHEDULES: u64 = 1_000;

/// A summary of one namespace, or of several.
pub(crate) struct Overview {
    within: Within,
    counts: overview::OverviewCounts,
}

impl Overview {
    /// The current summary.
    pub(crate) async fn now(cx: &Context<'_>, within: Within) -> Result<Self> {
        let counts = overview::counts(cx.store(), &within).await?;
        Ok(Self { within, counts })
    }
}

/// A day before now.
fn yesterday(cx: &Context<'_>) -> Timestamp {
    (cx.commands().clock.now() - TimeDelta::hours(24)).into()
}

/// A summary of one namespace, or of several.
#[Object]
impl Overview {
    /// Schedules that are not deleted.
    async fn schedules(&self) -> i64 {
        self.counts.schedules
    }

    /// Schedules that will fire.
    async fn active_schedules(&self) -> i64 {
        self.counts.active
    }

    /// Schedules that are paused.
    async fn paused_schedules(&self) -> i64 {
        self.counts.paused
    }

    /// Runs that have not settled.
    async fn live_runs(&self) -> Long {
        self.counts.live_runs.into()
    }

    /// Everything that ended in the last 24 hours, scheduled or manual; each is counted within
    /// seconds of its end.
    async fn executions(&self, cx: &Context<'_>) -> Result<Executions> {
        // Includes runs that have just ended by the clock of another node.
        let soon = (cx.commands().clock.now() + TimeDelta::minutes(1)).into();
        let day = stats::counts(cx.store(), &self.within, yesterday(cx), soon).await?;
        Ok(Executions::of(&day))
    }

    /// The next fires of all schedules, soonest first.
    #[graphql(complexity = "cost(Some(first), None, child_complexity)")]
    async fn upcoming(
        &self,
        cx: &Context<'_>,
        #[graphql(default = 10, desc = "The number of entries, 1 to 200.")] first: i32,
    ) -> Result<Vec<Calm<Upcoming>>> {
        let limit = bounded("first", first)?;
        let wanted = usize::try_from(limit).unwrap_or_default();
        // The next n fires overall are among the next n fires of the n schedules that are due
        // soonest. But where calendars or pauses suppress the instants that are due, schedules that
        // are due later may fire sooner.
        let mut examined = limit;
        loop {
            let rows = overview::soonest(cx.store(), &self.within, examined).await?;
            let reach = rows.last().and_then(|row| row.next_fire_at);
            let is_all = (rows.len() as u64) < examined || examined >= SCHEDULES;
            let fires = next_fires(cx, rows, wanted).await?;
            let last = fires.get(wanted - 1).map(|fire| fire.0.at.0);
            if is_all || last.zip(reach).is_some_and(|(last, reach)| last <= reach.utc()) {
                return Ok(fires);
            }
            examined = (examined * 4).min(SCHEDULES);
        }
    }

    /// Runs that failed or timed out in the last 24 hours, newest first.
    #[graphql(complexity = "cost(Some(first), None, child_complexity)")]
    async fn failures(
        &self,
        cx: &Context<'_>,
        #[graphql(default = 10, desc = "The number of entries, 1 to 200.")] first: i32,
    ) -> Result<Vec<Calm<Run>>> {
        let limit = bounded("first", first)?;
        let rows = overview::failures(cx.store(), &self.within, yesterday(cx), limit).await?;
        Ok(rows.into_iter().map(Run).map(Calm).collect())
    }

    /// Nodes that are alive, or ended within the last day; at most 1000.
    #[graphql(complexity = "NODES * child_complexity")]
    async fn nodes(&self, cx: &Context<'_>) -> Result<Vec<Node>> {
        Node::all(cx).await
    }
}

/// The next fires of these schedules, soonest first.
async fn next_fires(
    cx: &Context<'_>,
    rows: Vec<Model>,
    wanted: usize,
) -> Result<Vec<Calm<Upcoming>>> {
    // All timetables at once, so that their calendars and windows are read together.
    let timetables = join_all(rows.iter().map(|row| maintenance::timetable(cx, row))).await;
    let (mut ahead, mut looks) = (Vec::with_capacity(rows.len()), usize::MAX);
    for (row, timetable) in rows.into_iter().zip(timetables) {
        if let (Ok(timetable), Some(cursor)) = (timetable?, row.next_scheduled_at) {
            ahead.push(FiresLeft::new(row, timetable, cursor.utc(), &mut looks));
        }
    }
    Ok(soonest(&ahead, DateTime::<Utc>::MAX_UTC, wanted).await)
}

/// An upcoming fire.
#[derive(SimpleObject)]
pub(crate) struct Upcoming {
    /// The instant, before jitter.
    pub(super) at: Instant,
    /// The schedule.
    pub(super) schedule: Schedule,
}
