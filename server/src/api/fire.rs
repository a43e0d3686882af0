//! A fire of the ledger as the API shows it.

use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use entity::fire;
use timetable::misfire::ON_TIME;
use uuid::Uuid;

use super::{
    context::ContextExt,
    error::Result,
    loaders::{LastRun, NamespaceName, NodeRow, RunRow, ScheduleRow},
    run::Run,
    scalar::{Instant, Long},
    schedule::Schedule,
    sentence,
    timing_preview::{FireKind, LOCAL},
};

/// One instant at which a schedule was due, or a range of instants with the same outcome.
pub(crate) struct Fire(pub(crate) fire::Model);

/// One instant at which a schedule was due, or a range of instants with the same outcome.
#[Object]
impl Fire {
    pub(crate) async fn id(&self) -> ID {
        self.0.id.into()
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    async fn schedule_id(&self) -> Uuid {
        self.0.schedule_id
    }

    /// The schedule, deleted or not; null once it is purged.
    async fn schedule(&self, cx: &Context<'_>) -> Result<Option<Schedule>> {
        Ok(cx.rows().load_one(ScheduleRow(self.0.schedule_id)).await?.map(Schedule))
    }

    /// The version of the schedule whose timing determined the instant.
    async fn schedule_version(&self) -> i32 {
        self.0.schedule_version
    }

    /// The instant, before jitter; the first one if the row accounts for several.
    async fn scheduled_at(&self) -> Instant {
        self.0.scheduled_at.into()
    }

    /// The instant with jitter applied.
    async fn due_at(&self) -> Instant {
        self.0.due_at.into()
    }

    /// Wall-clock time in the schedule's zone.
    async fn local(&self, cx: &Context<'_>) -> Result<String> {
        Ok(self.wall_clock(cx).await?.0.format(LOCAL).to_string())
    }

    /// UTC offset of the schedule's zone at that instant, such as +02:00
    async fn offset(&self, cx: &Context<'_>) -> Result<String> {
        Ok(self.wall_clock(cx).await?.1.to_string())
    }

    /// How a clock change affects the instant.
    async fn kind(&self) -> FireKind {
        self.0.kind.into()
    }

    /// What became of the fire.
    async fn verdict(&self) -> Verdict {
        self.0.verdict.into()
    }

    /// Why the fire has this verdict.
    async fn reason(&self, cx: &Context<'_>) -> Result<Reason> {
        self.why(cx).await
    }

    /// How many instants this row accounts for, from `scheduledAt` to `lastScheduledAt`: 1 unless
    /// many were missed at once.
    async fn count(&self) -> Long {
        self.0.count.into()
    }

    /// The last instant that the row accounts for; equal to `scheduledAt` if there is only one.
    async fn last_scheduled_at(&self) -> Instant {
        self.0.last_scheduled_at.into()
    }

    /// When the fire's row was written: for most fires, when a node claimed it.
    async fn claimed_at(&self) -> Instant {
        self.0.claimed_at.into()
    }

    /// When the fire got its final verdict; null while it is PENDING.
    async fn decided_at(&self) -> Option<Instant> {
        self.0.decided_at.map(Into::into)
    }

    /// The node that claimed the fire.
    async fn node(&self, cx: &Context<'_>) -> Result<Option<String>> {
        let Some(id) = self.0.claimed_by else { return Ok(None) };
        Ok(cx.rows().load_one(NodeRow(id)).await?.map(|node| node.name))
    }

    /// How many times recovery tried to hand the fire over after its node was lost.
    async fn recovery_attempts(&self) -> i32 {
        self.0.recovery_attempts
    }

    /// The run that the fire started. For a fire that did not run itself, the run of a backfill
    /// that made up for it.
    async fn run(&self, cx: &Context<'_>) -> Result<Option<Run>> {
        let Some(id) = self.0.run_id else { return Ok(None) };
        Ok(cx.rows().load_one(RunRow(id)).await?.map(Run))
    }
}

impl Fire {
    /// The row's reason, refined by facts from runs: whether the run that it waits for is alive,
    /// and whether its own run began on time.
    async fn why(&self, cx: &Context<'_>) -> Result<Reason> {
        let fire = &self.0;
        let plain = || Reason { code: fire.reason.into(), text: sentence::of(fire) };
        match (fire.verdict, fire.reason) {
            (fire::Verdict::Pending, fire::Reason::Buffered) => {
                let before = fire.detail.as_deref().and_then(|run| Uuid::try_parse(run).ok());
                let run = match before {
                    Some(before) => cx.rows().load_one(RunRow(before)).await?,
                    // A caught-up fire shows the reason for its delay, not the run before it.
                    None => cx.rows().load_one(LastRun(fire.schedule_id)).await?,
                };
                Ok(match run.filter(|run| run.state.is_live()) {
                    Some(run) => Reason { text: sentence::waits_for(run.id), ..plain() },
                    None => plain(),
                })
            }
            (fire::Verdict::Started, fire::Reason::OnTime) => {
                let Some(id) = fire.run_id else { return Ok(plain()) };
                let run = cx.rows().load_one(RunRow(id)).await?;
                let began = run.and_then(|run| run.started_at);
                let late = began.map(|began| began.utc() - fire.due_at.utc());
                Ok(match late.filter(|late| *late > ON_TIME) {
                    Some(late) => {
                        Reason { code: ReasonCode::Late, text: sentence::began_late(late) }
                    }
                    None => plain(),
                })
            }
            (
                fire::Verdict::Pending
                | fire::Verdict::Started
                | fire::Verdict::Skipped
                | fire::Verdict::Missed
                | fire::Verdict::Collapsed
                | fire::Verdict::Abandoned,
                _,
            ) => Ok(plain()),
        }
    }

    async fn wall_clock(
        &self,
        cx: &Context<'_>,
    ) -> Result<(chrono::NaiveDateTime, chrono::FixedOffset)> {
        let schedule = cx.rows().load_one(ScheduleRow(self.0.schedule_id)).await?;
        let at = self.0.scheduled_at.utc();
        let zone = schedule.as_ref().map_or("UTC", |row| &row.zone);
        Ok(timetable::wall_clock(zone, at).unwrap_or_else(|| (at.naive_utc(), utc())))
    }
}

fn utc() -> chrono::FixedOffset {
    chrono::Offset::fix(&chrono::Utc)
}

/// The outcome of a fire.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(remote = "fire::Verdict")]
pub(crate) enum Verdict {
    /// The intent is written but not handed over, so nothing runs yet.
    Pending,
    /// The fire was handed over: its run exists.
    Started,
    /// The fire was skipped on purpose (because of a calendar, a pause, a change or a request) or
    /// for load (because of a live run, a full buffer, a start deadline or a quota).
    Skipped,
    /// No node claimed the fire in time, and the misfire policy does not make up for it.
    Missed,
    /// The fire was missed, and a later one ran in its place.
    Collapsed,
    /// The fire could not be handed over within the limits of recovery.
    Abandoned,
}

/// Why a fire has its verdict.
#[derive(SimpleObject)]
pub(crate) struct Reason {
    /// The reason as a code, for use by programs.
    code: ReasonCode,
    /// An explanation for people.
    text: String,
}

/// The reason for a fire's verdict.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "fire::Reason")]
pub(crate) enum ReasonCode {
    /// The fire started when it was due, or within two seconds of that.
    OnTime,
    /// The fire was not missed, but started more than two seconds late: the text says how late and
    /// why.
    Late,
    /// The fire was missed, and then run by the catch-up policy or after a pause.
    CaughtUp,
    /// Recovery started the fire after its hand-off was lost.
    Recovered,
    /// A run of the same schedule was alive.
    Overlap,
    /// A run of the same schedule was alive. The fire waits, or waited, until that run settled.
    Buffered,
    /// A run of the same schedule was alive, and the buffer was full.
    BufferFull,
    /// The namespace had started as many fires in that minute as its quota allows.
    Quota,
    /// The fire waited in the buffer and was purged from it.
    Purged,
    /// A later fire of the same schedule took its place.
    Replaced,
    /// The schedule was paused.
    Paused,
    /// The fire's start deadline had passed.
    Deadline,
    /// The schedule was paused between claim and hand-off.
    Disabled,
    /// The schedule was deleted before the fire was claimed, or between claim and hand-off.
    Deleted,
    /// The schedule was edited before the fire was claimed, or between claim and hand-off.
    StaleVersion,
    /// No scheduler claimed the fire in time.
    Outage,
    /// The fire was missed before the catch-up window.
    CatchUpWindow,
    /// The fire was missed, and exceeds the number of fires that the catch-up policy runs.
    CatchUpLimit,
    /// A calendar of the schedule suppresses the fire.
    Calendar,
    /// The fire was skipped on request.
    ByRequest,
    /// Recovery used up its attempts.
    AttemptsExhausted,
    /// Recovery found the fire too late.
    TooOld,
    /// The ledger had no row for the fire until a backfill started it.
    Backfilled,
    /// The fire was claimed, and waits for its hand-off.
    AwaitingHandoff,
}
