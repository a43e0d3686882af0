use std::cmp::Reverse;

use async_graphql::{Context, Object, SimpleObject};
use chrono::TimeDelta;
use entity::Timestamp;

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
};
use crate::store::reads::{overview, stats, within::Within};

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
        // The next n fires overall are among the next n fires of the n schedules that are due
        // soonest.
        let rows = overview::soonest(cx.store(), &self.within, limit).await?;
        let wanted = usize::try_from(limit).unwrap_or_default();
        let mut heads = std::collections::BinaryHeap::new();
        let mut tables = Vec::with_capacity(rows.len());
        for (index, row) in rows.iter().enumerate() {
            let table = maintenance::timetable(cx, row).await?.ok();
            let next = row.next_scheduled_at.and_then(|cursor| match &table {
                Some(table) if table.has_calendars() => {
                    let before = cursor.utc() - TimeDelta::milliseconds(1);
                    table.next_allowed(before).map(|fire| fire.at)
                }
                Some(_) | None => Some(cursor.utc()),
            });
            heads.extend(next.map(|at| Reverse((at, index))));
            tables.push(table);
        }
        let mut upcoming = Vec::with_capacity(wanted);
        while upcoming.len() < wanted {
            let Some(Reverse((at, index))) = heads.pop() else { break };
            let schedule = Schedule(rows[index].clone());
            upcoming.push(Calm(Upcoming { at: at.into(), schedule }));
            let next = tables[index].as_ref().and_then(|table| table.next_allowed(at));
            heads.extend(next.map(|fire| Reverse((fire.at, index))));
        }
        Ok(upcoming)
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

/// An upcoming fire.
#[derive(SimpleObject)]
pub(crate) struct Upcoming {
    /// The instant, before jitter.
    pub(super) at: Instant,
    /// The schedule.
    pub(super) schedule: Schedule,
}
