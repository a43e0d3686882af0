//! A backfill as the API shows it.

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use entity::{backfill, backfill_fire};
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    loaders::{BackfillProgressOf, BackfillRow, NamespaceName, RunRow, ScheduleRow},
    page::{Connection, Paging, connection, cost},
    run::Run,
    scalar::Instant,
    schedule::Schedule,
    timing_preview::{FireKind, LOCAL},
};
use crate::{
    commands::{CommandError, OrderedBackfill},
    store::reads,
};

/// The cost of counting the fires of one backfill; there are at most ten thousand.
const PROGRESS: usize = 100;

/// A request to run a schedule for past instants.
pub(crate) struct Backfill(pub(crate) backfill::Model);

/// A request to run a schedule for past instants.
#[Object]
impl Backfill {
    pub(crate) async fn id(&self) -> ID {
        self.0.id.into()
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    /// The schedule, deleted or not.
    async fn schedule(&self, cx: &Context<'_>) -> Result<Option<Schedule>> {
        Ok(cx.rows().load_one(ScheduleRow(self.0.schedule_id)).await?.map(Schedule))
    }

    /// The version of the schedule whose timing determined the instants.
    async fn schedule_version(&self) -> i32 {
        self.0.schedule_version
    }

    /// Start of the window, inclusive.
    async fn from(&self) -> Instant {
        self.0.from_at.into()
    }

    /// End of the window, exclusive.
    async fn to(&self) -> Instant {
        self.0.to_at.into()
    }

    /// Which instants of the window it runs.
    async fn mode(&self) -> BackfillMode {
        self.0.mode.into()
    }

    /// The order in which it runs them.
    async fn order(&self) -> BackfillOrder {
        self.0.fire_order.into()
    }

    /// How many of the backfill's runs may be alive at once.
    async fn concurrency(&self) -> i32 {
        self.0.concurrency
    }

    /// Whether it runs, is paused, or has ended.
    async fn state(&self) -> BackfillState {
        self.0.state.into()
    }

    /// Why the backfill was requested.
    async fn reason(&self) -> &str {
        &self.0.reason
    }

    /// Merged into the schedule's context; its keys take precedence.
    async fn context(&self, cx: &Context<'_>) -> Option<serde_json::Value> {
        Some(cx.payload(self.0.namespace_id, self.0.context.clone()?))
    }

    async fn created_by(&self) -> &str {
        &self.0.created_by
    }

    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }

    /// Set while the backfill is paused.
    async fn pause(&self) -> Option<BackfillPause> {
        let at = self.0.paused_at?;
        Some(BackfillPause {
            by: self.0.paused_by.clone().unwrap_or_default(),
            at: at.into(),
            reason: self.0.paused_reason.clone(),
        })
    }

    /// Set if the backfill was stopped.
    async fn cancel(&self) -> Option<BackfillCancel> {
        let at = self.0.cancelled_at?;
        Some(BackfillCancel {
            by: self.0.cancelled_by.clone().unwrap_or_default(),
            reason: self.0.cancel_reason.clone().unwrap_or_default(),
            at: at.into(),
        })
    }

    /// When the last of the backfill's fires ended.
    async fn finished_at(&self) -> Option<Instant> {
        self.0.finished_at.map(Into::into)
    }

    /// The backfill's progress. Each request recounts it.
    #[graphql(complexity = "PROGRESS + child_complexity")]
    async fn progress(&self, cx: &Context<'_>) -> Result<BackfillProgress> {
        let found = cx.rows().load_one(BackfillProgressOf(self.0.id)).await?.unwrap_or_default();
        Ok(BackfillProgress { total: self.0.total, done: found })
    }

    /// The backfill's fires, in the order in which they run.
    #[graphql(complexity = "cost(first, None, child_complexity)")]
    async fn fires(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "Only fires in this state.")] state: Option<BackfillFireState>,
        #[graphql(desc = "The page size, 1 to 200; 50 if absent.")] first: Option<i32>,
        #[graphql(desc = "Only entries after this cursor of the list.")] after: Option<String>,
    ) -> Result<Connection<BackfillFire>> {
        let window = Paging::forward(first, after).window(|text| text.parse().ok())?;
        let state = state.map(Into::into);
        let page = reads::backfills::fires(cx.store(), self.0.id, state, &window).await?;
        Ok(connection(page, |row| row.position.to_string(), BackfillFire))
    }
}

impl Backfill {
    /// The backfill that a run belongs to.
    pub(super) async fn of_run(cx: &Context<'_>, id: Option<Uuid>) -> Result<Option<Self>> {
        let Some(id) = id else { return Ok(None) };
        Ok(cx.rows().load_one(BackfillRow(id)).await?.map(Self))
    }
}

/// When and by whom a backfill was paused.
#[derive(SimpleObject)]
pub(crate) struct BackfillPause {
    /// The name of the user or token that paused it.
    by: String,
    at: Instant,
    /// Why the backfill paused itself, if its next runs could not be started.
    reason: Option<String>,
}

/// Who stopped a backfill, and why.
#[derive(SimpleObject)]
pub(crate) struct BackfillCancel {
    /// The name of the user or token that stopped it.
    by: String,
    /// The reason that they gave.
    reason: String,
    at: Instant,
}

/// The progress of a backfill: its fires by state.
pub(crate) struct BackfillProgress {
    total: i32,
    done: reads::backfills::FiresByState,
}

/// The progress of a backfill: its fires by state.
#[Object]
impl BackfillProgress {
    /// All of its fires.
    async fn total(&self) -> i32 {
        self.total
    }

    /// Fires that wait for their turn.
    async fn pending(&self) -> i64 {
        self.done.pending
    }

    /// Fires whose run is alive.
    async fn running(&self) -> i64 {
        self.done.running
    }

    /// Fires whose run succeeded.
    async fn succeeded(&self) -> i64 {
        self.done.succeeded
    }

    /// Fires whose run failed or timed out.
    async fn failed(&self) -> i64 {
        self.done.failed
    }

    /// Fires whose run was cancelled, or that never had one.
    async fn cancelled(&self) -> i64 {
        self.done.cancelled
    }

    /// Fires that were no longer needed when their turn came.
    async fn skipped(&self) -> i64 {
        self.done.skipped
    }
}

/// One instant of a backfill.
pub(crate) struct BackfillFire(backfill_fire::Model);

/// One instant of a backfill.
#[Object]
impl BackfillFire {
    /// The fire's position in the order of the backfill, from 0.
    async fn position(&self) -> i32 {
        self.0.position
    }

    /// The instant.
    async fn scheduled_at(&self) -> Instant {
        self.0.scheduled_at.into()
    }

    /// Wall-clock time in the schedule's zone: 2026-03-29T03:00:00
    async fn local(&self, cx: &Context<'_>) -> Result<String> {
        let schedule = cx.rows().load_one(ScheduleRow(self.0.schedule_id)).await?;
        let at = self.0.scheduled_at.utc();
        let zone = schedule.as_ref().map_or("UTC", |row| &row.zone);
        let local = timetable::wall_clock(zone, at).map_or(at.naive_utc(), |(local, _)| local);
        Ok(local.format(LOCAL).to_string())
    }

    /// How a clock change affects the instant.
    async fn kind(&self) -> FireKind {
        self.0.kind.into()
    }

    /// The state of the fire.
    async fn state(&self) -> BackfillFireState {
        self.0.state.into()
    }

    /// The fire's run; null before the run exists, and after its removal.
    async fn run(&self, cx: &Context<'_>) -> Result<Option<Run>> {
        let Some(id) = self.0.run_id else { return Ok(None) };
        Ok(cx.rows().load_one(RunRow(id)).await?.map(Run))
    }

    /// Why the fire was skipped or cancelled, or a note that its run no longer exists.
    async fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// When the fire's run was queued.
    async fn started_at(&self) -> Option<Instant> {
        self.0.started_at.map(Into::into)
    }

    /// When its run ended, or it was skipped or cancelled.
    async fn finished_at(&self) -> Option<Instant> {
        self.0.finished_at.map(Into::into)
    }
}

/// Which instants of the window a backfill runs. It never runs one that has a live run.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "backfill::Mode")]
pub(crate) enum BackfillMode {
    /// Instants that have had no run.
    Missing,
    /// Instants that have had no run, and those whose runs have all ended without success.
    MissingAndFailed,
    /// All instants, including those whose runs succeeded.
    All,
}

/// The order in which a backfill runs its instants.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "backfill::Order")]
pub(crate) enum BackfillOrder {
    /// The oldest first.
    OldestFirst,
    /// The newest first.
    NewestFirst,
}

/// The state of a backfill.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "backfill::State")]
pub(crate) enum BackfillState {
    /// The backfill starts runs.
    Running,
    /// The backfill starts no runs; those that are alive continue.
    Paused,
    /// Stopped for good. Its last runs may still be ending.
    Cancelled,
    /// Each of the backfill's fires has ended.
    Completed,
}

/// The state of one instant of a backfill.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "backfill_fire::State")]
pub(crate) enum BackfillFireState {
    /// The fire waits for its turn.
    Pending,
    /// The fire's run is alive.
    Running,
    /// The fire's run succeeded.
    Succeeded,
    /// The fire's run failed or timed out.
    Failed,
    /// The fire's run was cancelled, or the fire never had one.
    Cancelled,
    /// The fire was no longer needed when its turn came.
    Skipped,
}

/// A backfill after a mutation.
#[derive(SimpleObject)]
pub(crate) struct BackfillPayload {
    backfill: Backfill,
}

impl BackfillPayload {
    pub(super) async fn of(cx: &Context<'_>, ordered: OrderedBackfill) -> Result<Self> {
        let row = reads::backfills::by_id(cx.store(), ordered.id).await?;
        let row = row.filter(|row| cx.is_home(row.namespace_id));
        let row = row.ok_or_else(|| CommandError::not_found("backfill", ordered.id))?;
        Ok(Self { backfill: Backfill(row) })
    }
}
