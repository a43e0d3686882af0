//! The answer of `outagePreview`: what each catch-up policy would do about an outage.

use async_graphql::{Object, SimpleObject};
use chrono::{DateTime, Utc};
use entity::{
    fire,
    schedule::{self, Model},
};

use super::{
    calm::Calm,
    error::Result,
    fire::{ReasonCode, Verdict},
    page::{bounded, cost_by},
    scalar::{Instant, Long},
    schedule::Schedule,
    schedule_policy::CatchUp,
    timing_preview::FireKind,
};
use crate::{
    commands::{
        OutageEffect, ScheduleOutage,
        schedules::outage_preview::{is_late, starts_at},
    },
    store::{claims::NewFire, reads::outcomes::Outcomes},
};

/// The number of policies.
pub(super) const POLICIES: usize = 3;
/// Maximum number of instants of one policy.
const MAX_INSTANTS: i32 = 200;

/// What each catch-up policy would do about an outage.
#[derive(SimpleObject)]
pub(super) struct OutagePreview {
    /// When the outage begins, inclusive.
    pub(super) from: Instant,
    /// When a scheduler runs again.
    pub(super) to: Instant,
    /// How many instants of the listed schedules become due until then, without those that a
    /// calendar suppresses.
    pub(super) expected: Long,
    /// The effect of each policy, if all listed schedules had it.
    #[graphql(complexity = "POLICIES * child_complexity")]
    pub(super) totals: Vec<OutageTotals>,
    /// The effect of the policies that the listed schedules have; null if `policies` leaves out one
    /// of them.
    pub(super) own: Option<OutageCounts>,
    /// The schedules by name, ignoring case: at most 100.
    pub(super) schedules: Vec<Calm<OutageSchedule>>,
    /// Pass it as `after` to read the next schedules; null if there are none.
    pub(super) end_cursor: Option<String>,
    /// Whether more schedules match than are listed.
    pub(super) has_more: bool,
}

/// What becomes of the instants of an outage: the counts add up to `expected`, unless a limit of
/// fires ends a schedule before its last instant.
#[derive(SimpleObject, Clone, Copy, Default)]
pub(super) struct OutageCounts {
    /// Instants that run within two seconds of their due time: those at the end of the outage.
    on_time: Long,
    /// Instants that run late.
    late: Long,
    /// Instants in whose place a later one runs.
    collapsed: Long,
    /// Instants that never run.
    missed: Long,
    /// Instants that are skipped, because of a start deadline or the overlap policy.
    skipped: Long,
}

/// The effect of a policy on all listed schedules.
#[derive(SimpleObject)]
pub(super) struct OutageTotals {
    /// The policy.
    pub(super) catch_up: CatchUp,
    /// What becomes of the instants.
    pub(super) counts: OutageCounts,
}

/// What each catch-up policy would do about one schedule.
pub(super) struct OutageSchedule {
    pub(super) row: Model,
    pub(super) outage: Option<ScheduleOutage>,
    pub(super) to: DateTime<Utc>,
    pub(super) is_paused: bool,
    /// None if the outage is still to come.
    pub(super) outcomes: Option<Outcomes>,
}

/// What each catch-up policy would do about one schedule.
#[Object]
impl OutageSchedule {
    /// The schedule.
    async fn schedule(&self) -> Schedule {
        Schedule(self.row.clone())
    }

    /// How many of its instants become due in the outage or at its end, without those that a
    /// calendar suppresses.
    async fn expected(&self) -> Long {
        self.outage.as_ref().map_or(0, |outage| outage.expected).into()
    }

    /// How many of its instants a calendar suppresses.
    async fn suppressed(&self) -> Long {
        self.outage.as_ref().map_or(0, |outage| outage.suppressed).into()
    }

    /// Whether the schedule is paused for all of the outage, so that it loses nothing.
    async fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// False if the schedule's timing can no longer be used, or if a calendar divides the outage
    /// into too many windows: then the counts are too low.
    async fn is_complete(&self) -> bool {
        self.outage.as_ref().is_some_and(|outage| outage.is_complete)
    }

    /// The effect of each policy; empty if the schedule's timing can no longer be used.
    #[graphql(complexity = "POLICIES * child_complexity")]
    async fn policies(&self) -> Vec<OutagePolicy> {
        let of = |effect: &OutageEffect| OutagePolicy {
            is_own: effect.catch_up == self.row.catch_up,
            effect: effect.clone(),
            to: self.to,
        };
        self.outage.iter().flat_map(|outage| &outage.effects).map(of).collect()
    }

    /// What the ledger holds for the time of the outage so far; null if it is still to come.
    async fn ledger(&self) -> Option<OutageLedger> {
        self.outcomes.as_ref().map(OutageLedger::of)
    }
}

/// The effect of a policy on a schedule.
pub(super) struct OutagePolicy {
    effect: OutageEffect,
    is_own: bool,
    to: DateTime<Utc>,
}

/// The effect of a policy on a schedule.
#[Object]
impl OutagePolicy {
    /// The policy.
    async fn catch_up(&self) -> CatchUp {
        self.effect.catch_up.into()
    }

    /// Whether the schedule has this policy.
    async fn is_own(&self) -> bool {
        self.is_own
    }

    /// What becomes of the instants.
    async fn counts(&self) -> OutageCounts {
        OutageCounts::of(&self.effect)
    }

    /// When the last of the runs may start; null if none runs. Runs that follow one another may
    /// start later.
    async fn last_start_at(&self) -> Option<Instant> {
        self.effect.last_start.map(Into::into)
    }

    /// How many rows the ledger would get: `instants` lists the first of them.
    async fn instant_count(&self) -> Long {
        i64::try_from(self.effect.rows).unwrap_or(i64::MAX).into()
    }

    /// The rows that the ledger would get, in order.
    #[graphql(complexity = "cost_by(first, MAX_INSTANTS, child_complexity)")]
    async fn instants(
        &self,
        #[graphql(default = 10, desc = "The number of entries, 1 to 200.")] first: i32,
    ) -> Result<Vec<OutageInstant>> {
        let wanted = usize::try_from(bounded("first", first)?).unwrap_or_default();
        let of = |fire: &NewFire| OutageInstant::of(fire, self.to);
        Ok(self.effect.fires.iter().take(wanted).map(of).collect())
    }
}

/// An instant of an outage, or a range of instants with the same outcome.
#[derive(SimpleObject)]
pub(super) struct OutageInstant {
    /// The instant, before jitter; the first one of a range.
    scheduled_at: Instant,
    /// The last instant of a range; equal to `scheduledAt` if there is only one.
    last_scheduled_at: Instant,
    /// The number of instants.
    count: Long,
    /// When the fire would start at the earliest; null if it does not run.
    starts_at: Option<Instant>,
    /// Whether it waits for the run before it, however long that takes.
    waits: bool,
    /// Whether it runs more than two seconds late.
    is_late: bool,
    /// How a clock change affects the instant.
    kind: FireKind,
    /// PENDING means that it would run.
    verdict: Verdict,
    /// Why it has this verdict.
    reason: ReasonCode,
    /// The calendar that suppresses the fire, if one does.
    detail: Option<String>,
}

/// What the ledger holds for the time of an outage.
#[derive(SimpleObject, Default)]
pub(super) struct OutageLedger {
    /// Instants for which a run was started.
    started: Long,
    /// Instants in whose place a later one ran.
    collapsed: Long,
    /// Instants that did not run: MISSED or ABANDONED.
    missed: Long,
    /// Instants that were skipped, also because of a calendar.
    skipped: Long,
    /// Instants without a run so far.
    pending: Long,
    /// False if there are too many rows to count: then the earliest are left out.
    is_complete: bool,
}

impl OutageSchedule {
    /// The effect of a policy on the schedule.
    pub(super) fn effect(&self, policy: schedule::CatchUp) -> Option<&OutageEffect> {
        self.outage.as_ref()?.effects.iter().find(|effect| effect.catch_up == policy)
    }
}

impl OutageCounts {
    fn of(effect: &OutageEffect) -> Self {
        let mut counts = Self::default();
        counts.add(effect);
        counts
    }

    /// Adds the effect of a policy on a schedule.
    pub(super) fn add(&mut self, effect: &OutageEffect) {
        for (sum, part) in [
            (&mut self.on_time, effect.on_time),
            (&mut self.late, effect.late),
            (&mut self.collapsed, effect.collapsed),
            (&mut self.missed, effect.missed),
            (&mut self.skipped, effect.skipped),
        ] {
            sum.0 = sum.0.saturating_add(part);
        }
    }
}

impl OutageInstant {
    fn of(fire: &NewFire, to: DateTime<Utc>) -> Self {
        let runs = fire.verdict == fire::Verdict::Pending;
        Self {
            scheduled_at: fire.scheduled_at.into(),
            last_scheduled_at: fire.last_scheduled_at.into(),
            count: fire.count.into(),
            starts_at: runs.then(|| starts_at(fire, to).into()),
            waits: fire.queue_position.is_some(),
            is_late: runs && is_late(fire, to),
            kind: fire.kind.into(),
            verdict: fire.verdict.into(),
            reason: fire.reason.into(),
            detail: fire.detail.clone().filter(|_| fire.reason == fire::Reason::Calendar),
        }
    }
}

impl OutageLedger {
    fn of(outcomes: &Outcomes) -> Self {
        let mut held = Self { is_complete: outcomes.is_complete, ..Self::default() };
        for (verdict, count) in &outcomes.counts {
            let part = match verdict {
                fire::Verdict::Started => &mut held.started,
                fire::Verdict::Collapsed => &mut held.collapsed,
                fire::Verdict::Missed | fire::Verdict::Abandoned => &mut held.missed,
                fire::Verdict::Skipped => &mut held.skipped,
                fire::Verdict::Pending => &mut held.pending,
            };
            part.0 = part.0.saturating_add(*count);
        }
        held
    }
}
