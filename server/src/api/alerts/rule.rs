use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use entity::alert_rule::Model;

use super::channel::AlertChannel;
use crate::{
    api::{
        calendar::CalendarWindow,
        context::ContextExt,
        error::Result,
        loaders::{AlertChannelRow, NamespaceName},
        page::DECLARED,
        scalar::Instant,
    },
    commands::{CommandError, SavedRule, stored},
    engine::alerting::alerts::{self, Rule},
    store::alerts::rules,
};

/// Selects the events to report and the channels to report them to.
pub(crate) struct AlertRule(pub(crate) Model);

/// Selects the events to report and the channels to report them to.
#[Object]
impl AlertRule {
    pub(crate) async fn id(&self) -> ID {
        self.0.id.into()
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    async fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether the rule records alerts and sends messages.
    async fn enabled(&self) -> bool {
        self.0.enabled
    }

    /// The events that the rule reports.
    async fn on(&self) -> Result<Vec<AlertEvent>> {
        Ok(self.rule()?.on.into_iter().map(Into::into).collect())
    }

    /// A search that selects the schedules the rule watches; empty for all.
    async fn search(&self) -> Result<String> {
        Ok(self.rule()?.search)
    }

    /// The channels that the rule sends messages to.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn channels(&self, cx: &Context<'_>) -> Result<Vec<AlertChannel>> {
        let ids = self.rule()?.channels;
        let mut rows = cx.rows().load_many(ids.iter().copied().map(AlertChannelRow)).await?;
        let named = ids.iter().filter_map(|id| rows.remove(&AlertChannelRow(*id)));
        Ok(named.map(AlertChannel).collect())
    }

    /// Problems that end within this time are not reported.
    async fn grace_seconds(&self) -> Result<i64> {
        Ok(self.rule()?.grace_seconds)
    }

    /// For LOSING: the number of failures in a row.
    async fn losing_after(&self) -> Result<i64> {
        Ok(self.rule()?.losing_after)
    }

    /// For SKIPPED: the number of fires skipped within an hour.
    async fn skipped_after(&self) -> Result<i64> {
        Ok(self.rule()?.skipped_after)
    }

    /// For LATE: the delay after the due time from which a start is late.
    async fn late_after_seconds(&self) -> Result<i64> {
        Ok(self.rule()?.late_after_seconds)
    }

    /// For STALLED: how long a due schedule or a waiting run may wait for a node.
    async fn stalled_after_seconds(&self) -> Result<i64> {
        Ok(self.rule()?.stalled_after_seconds)
    }

    /// For SLOW: the multiple of its usual duration from which a run is slow.
    async fn slow_after_times(&self) -> Result<i64> {
        Ok(self.rule()?.slow_after_times)
    }

    /// For CLOCK_CHANGE: how many days before the change it is reported.
    async fn clock_change_days(&self) -> Result<i64> {
        Ok(self.rule()?.clock_change_days)
    }

    /// Events within this time of the first reported one are combined into one message.
    async fn digest_seconds(&self) -> Result<i64> {
        Ok(self.rule()?.digest_seconds)
    }

    /// Quiet hours: messages are held until they end.
    async fn quiet(&self) -> Result<Option<QuietHours>> {
        let quiet = self.rule()?.quiet;
        Ok(quiet.map(|quiet| QuietHours {
            zone: quiet.zone,
            windows: quiet.windows.into_iter().map(Into::into).collect(),
        }))
    }

    /// Whether messages include the error of a failed run, verbatim.
    async fn include_errors(&self) -> Result<bool> {
        Ok(self.rule()?.include_errors)
    }

    /// When the mute ends; null if the rule is not muted.
    async fn muted_until(&self, cx: &Context<'_>) -> Option<Instant> {
        let now = cx.commands().clock.now();
        self.0.muted_until.filter(|until| until.utc() > now).map(Into::into)
    }

    /// Who muted the rule last.
    async fn muted_by(&self) -> Option<&str> {
        self.0.muted_by.as_deref()
    }

    /// The reason given for the mute.
    async fn muted_reason(&self) -> Option<&str> {
        self.0.muted_reason.as_deref()
    }

    /// The number of the current version, from 1.
    async fn version(&self) -> i32 {
        self.0.version
    }

    /// The module file that declares the rule, if one does.
    async fn module(&self) -> Option<&str> {
        self.0.module.as_deref()
    }

    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }

    async fn updated_at(&self) -> Instant {
        self.0.updated_at.into()
    }
}

impl AlertRule {
    fn rule(&self) -> Result<Rule> {
        let whose = || format!("alert rule {:?}", self.0.name);
        Ok(stored::read(self.0.definition.clone(), whose)?)
    }
}

/// What a rule reports. Each event is a transition: it is reported when it begins, not on every
/// occurrence.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "alerts::AlertEvent")]
pub(crate) enum AlertEvent {
    /// A schedule's runs begin to fail: one has failed after all of its attempts.
    Failed,
    /// A reported problem is over.
    Recovered,
    /// `losingAfter` runs of a schedule have failed in a row.
    Losing,
    /// Fires did not run, because no node claimed them in time or recovery abandoned them. Each is
    /// reported.
    Missed,
    /// A schedule has skipped `skippedAfter` fires within an hour for load: because of a live run,
    /// a full buffer, its start deadline or a quota. It is over once a fire starts before which none
    /// was skipped for an hour.
    Skipped,
    /// A run started late. Each one is reported.
    Late,
    /// A schedule is due, or one of its runs is waiting, and no node takes it.
    Stalled,
    /// A run has taken several times its usual duration, and longer than nearly all earlier runs.
    Slow,
    /// A coming clock change affects times of a schedule, which will be skipped or occur twice.
    /// Reported once per change.
    ClockChange,
    /// A node was lost, and no node with its name has replaced it.
    NodeLost,
}

/// Local times in which no messages are sent.
#[derive(SimpleObject)]
pub(crate) struct QuietHours {
    /// IANA name of the zone whose clock decides.
    zone: String,
    /// Times of the day.
    #[graphql(complexity = "DECLARED * child_complexity")]
    windows: Vec<CalendarWindow>,
}

/// A rule after a mutation.
#[derive(SimpleObject)]
pub(crate) struct AlertRulePayload {
    rule: AlertRule,
}

impl AlertRulePayload {
    pub(super) async fn of(cx: &Context<'_>, saved: SavedRule) -> Result<Self> {
        let row = rules::by_ids(cx.store().read(), &[saved.id]).await?.pop();
        let row = row.filter(|row| cx.is_home(row.namespace_id));
        let row = row.ok_or_else(|| CommandError::not_found("alert rule", saved.id))?;
        Ok(Self { rule: AlertRule(row) })
    }
}
