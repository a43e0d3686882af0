use async_graphql::{Context, Enum, InputObject, Object, SimpleObject};
use chrono::{DateTime, Utc};
use entity::alert::{self, Model};
use uuid::Uuid;

use super::rule::AlertRule;
use crate::{
    api::{
        context::ContextExt,
        error::Result,
        loaders::{AlertRuleRow, NamespaceName, ScheduleRow},
        scalar::{Instant, Long},
        schedule::Schedule,
    },
    commands::CommandError,
    store::alerts::notes,
    vault::MASK,
};

/// A problem that an alert rule has recorded.
pub(crate) struct Alert(pub(crate) Model);

/// A problem that an alert rule has recorded.
#[Object]
impl Alert {
    async fn id(&self) -> Uuid {
        self.0.id
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    /// The kind of event that the alert reports.
    async fn kind(&self) -> AlertKind {
        self.0.kind.into()
    }

    /// The rule that recorded the alert.
    async fn rule(&self, cx: &Context<'_>) -> Result<Option<AlertRule>> {
        Ok(cx.rows().load_one(AlertRuleRow(self.0.rule_id)).await?.map(AlertRule))
    }

    /// The schedule that the alert concerns; null if the schedule is gone or the alert concerns a
    /// node.
    async fn schedule(&self, cx: &Context<'_>) -> Result<Option<Schedule>> {
        let Some(id) = self.0.schedule_id else { return Ok(None) };
        Ok(cx.rows().load_one(ScheduleRow(id)).await?.map(Schedule))
    }

    /// The schedule's or node's name at that time.
    async fn subject(&self) -> &str {
        &self.0.subject
    }

    /// The latest run that the alert concerns.
    async fn run_id(&self) -> Option<Uuid> {
        self.0.run_id
    }

    /// The fire that the alert concerns.
    async fn fire_id(&self) -> Option<Uuid> {
        self.0.fire_id
    }

    /// The error; masked for callers who may not see payloads.
    async fn detail(&self, cx: &Context<'_>) -> Option<&str> {
        let shown = cx.sees_payloads(self.0.namespace_id);
        self.0.detail.as_deref().map(|detail| if shown { detail } else { MASK })
    }

    /// How many consecutive failures (counting stops at 50) or fires the alert covers. For SKIPPED,
    /// the most fires that were skipped within an hour.
    async fn count(&self) -> Long {
        self.0.count.into()
    }

    /// When the first of the events that the alert covers occurred.
    async fn began_at(&self) -> Instant {
        self.0.began_at.into()
    }

    /// When the last of these events occurred.
    async fn last_at(&self) -> Instant {
        self.0.last_at.into()
    }

    /// When the alert ended; null while it is open.
    async fn ended_at(&self) -> Option<Instant> {
        self.0.ended_at.map(Into::into)
    }

    /// When the first message about the alert was created; null before that.
    async fn told_at(&self) -> Option<Instant> {
        self.0.told_at.map(Into::into)
    }

    /// When the alert was acknowledged; null if it is not acknowledged now.
    async fn acknowledged_at(&self, cx: &Context<'_>) -> Option<Instant> {
        self.acknowledged(cx)?.acknowledged_at.map(Into::into)
    }

    /// The user or token that acknowledged the alert.
    async fn acknowledged_by(&self, cx: &Context<'_>) -> Option<&str> {
        self.acknowledged(cx)?.acknowledged_by.as_deref()
    }

    /// The note that was left with the acknowledgement.
    async fn acknowledged_note(&self, cx: &Context<'_>) -> Option<&str> {
        self.acknowledged(cx)?.acknowledged_note.as_deref()
    }

    /// When the acknowledgement ends; null if it lasts as long as the alert.
    async fn acknowledged_until(&self, cx: &Context<'_>) -> Option<Instant> {
        self.acknowledged(cx)?.acknowledged_until.map(Into::into)
    }
}

impl Alert {
    /// The row, if it is acknowledged now.
    fn acknowledged(&self, cx: &Context<'_>) -> Option<&Model> {
        let now = cx.commands().clock.now();
        notes::is_acknowledged(&self.0, now.into()).then_some(&self.0)
    }
}

/// What an alert reports.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "alert::Kind")]
pub(crate) enum AlertKind {
    /// A schedule's runs have been failing since `beganAt`.
    Failed,
    /// As many runs as the rule's `losingAfter` have failed in a row.
    Losing,
    /// Fires did not run.
    Missed,
    /// A schedule skips fires for load: because of a live run, a full buffer, its start deadline or
    /// a quota.
    Skipped,
    /// A run started late.
    Late,
    /// A schedule is due, or one of its runs is waiting, and no node takes it.
    Stalled,
    /// A run is taking much longer than usual.
    Slow,
    /// A coming clock change affects a schedule's times.
    ClockChange,
    /// A node was lost.
    NodeLost,
}

/// Selects alerts.
#[derive(InputObject, Default)]
pub(crate) struct AlertFilter {
    /// Only alerts that this rule recorded.
    rule_id: Option<Uuid>,
    /// Only alerts that concern this schedule.
    schedule_id: Option<Uuid>,
    /// True selects open alerts, false selects alerts that have ended.
    open: Option<bool>,
    /// Whether the alerts are acknowledged now.
    acknowledged: Option<bool>,
    /// Whether the rules that recorded the alerts are muted now.
    muted: Option<bool>,
}

impl AlertFilter {
    pub(super) fn at(self, now: DateTime<Utc>) -> notes::Filter {
        let Self { rule_id, schedule_id, open, acknowledged, muted } = self;
        let at_now = |expected: bool| (expected, now.into());
        let (acknowledged, muted) = (acknowledged.map(at_now), muted.map(at_now));
        notes::Filter { rule_id, schedule_id, open, acknowledged, muted }
    }
}

/// An alert after a mutation.
#[derive(SimpleObject)]
pub(crate) struct AlertPayload {
    alert: Alert,
}

impl AlertPayload {
    pub(super) async fn of(cx: &Context<'_>, id: Uuid) -> Result<Self> {
        let row = notes::by_id(cx.store(), id).await?;
        let row = row.filter(|row| cx.is_home(row.namespace_id));
        Ok(Self { alert: Alert(row.ok_or_else(|| CommandError::not_found("alert", id))?) })
    }
}
