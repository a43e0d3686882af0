use async_graphql::{Context, Enum, ID, Object, SimpleObject};
use entity::alert_rule::Model;

use super::channel::AlertChannel;
use crate::{
    api::{
        calendar::CalendarWindow,
        context::Ask,
        error::Result,
        loaders::{AlertChannelRow, NamespaceName},
        page::DECLARED,
        scalar::Instant,
    },
    commands::{CommandError, SavedRule},
    engine::alerting::alerts::{self, Rule},
    store::alerts::rules,
};

/// Who is told of what.
pub(crate) struct AlertRule(pub(crate) Model);

/// Who is told of what.
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

    async fn enabled(&self) -> bool {
        self.0.enabled
    }

    /// What it tells of.
    async fn on(&self) -> Result<Vec<AlertEvent>> {
        Ok(self.rule()?.on.into_iter().map(Into::into).collect())
    }

    /// About which schedules; all, if empty.
    async fn search(&self) -> Result<String> {
        Ok(self.rule()?.search)
    }

    /// The channels that it tells.
    #[graphql(complexity = "DECLARED * child_complexity")]
    async fn channels(&self, cx: &Context<'_>) -> Result<Vec<AlertChannel>> {
        let ids = self.rule()?.channels;
        let mut rows = cx.rows().load_many(ids.iter().copied().map(AlertChannelRow)).await?;
        let named = ids.iter().filter_map(|id| rows.remove(&AlertChannelRow(*id)));
        Ok(named.map(AlertChannel).collect())
    }

    /// What is over before is not told.
    async fn grace_seconds(&self) -> Result<i64> {
        Ok(self.rule()?.grace_seconds)
    }

    /// For LOSING: so many failures in a row.
    async fn losing_after(&self) -> Result<i64> {
        Ok(self.rule()?.losing_after)
    }

    /// For LATE: started so long after it was due.
    async fn late_after_seconds(&self) -> Result<i64> {
        Ok(self.rule()?.late_after_seconds)
    }

    /// For STALLED: nobody has taken it for so long.
    async fn stalled_after_seconds(&self) -> Result<i64> {
        Ok(self.rule()?.stalled_after_seconds)
    }

    /// What happens within so long of the first that is to be told goes into one message.
    async fn digest_seconds(&self) -> Result<i64> {
        Ok(self.rule()?.digest_seconds)
    }

    /// When nothing is told until it is over.
    async fn quiet(&self) -> Result<Option<QuietHours>> {
        let quiet = self.rule()?.quiet;
        Ok(quiet.map(|quiet| QuietHours {
            zone: quiet.zone,
            windows: quiet.windows.into_iter().map(Into::into).collect(),
        }))
    }

    /// Whether messages say why a run failed, in its own words.
    async fn include_errors(&self) -> Result<bool> {
        Ok(self.rule()?.include_errors)
    }

    /// It tells nothing before; null unless it is muted now.
    async fn muted_until(&self, cx: &Context<'_>) -> Option<Instant> {
        let now = cx.commands().clock.now();
        self.0.muted_until.filter(|until| until.utc() > now).map(Into::into)
    }

    /// Who muted it last.
    async fn muted_by(&self) -> Option<&str> {
        self.0.muted_by.as_deref()
    }

    /// Why.
    async fn muted_reason(&self) -> Option<&str> {
        self.0.muted_reason.as_deref()
    }

    /// Counts the changes from 1.
    async fn version(&self) -> i32 {
        self.0.version
    }

    /// The module file that declares it, if one does.
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
        let unreadable = |source| {
            let what = format!("alert rule {:?}", self.0.name);
            CommandError::Unreadable { what, source }
        };
        Ok(serde_json::from_value(self.0.definition.clone()).map_err(unreadable)?)
    }
}

/// What a rule tells of. Each is a transition: it is told when it begins, not each time.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "alerts::Event")]
pub(crate) enum AlertEvent {
    /// A schedule's runs begin to fail: one has failed after all of its attempts.
    Failed,
    /// What was told is over.
    Recovered,
    /// So many runs of a schedule have failed in a row.
    Losing,
    /// Fires did not run: nobody claimed them in time, or recovery gave them up. Each is told.
    Missed,
    /// A run started late. Each is told.
    Late,
    /// A schedule is due, or a run of it waits, and no node takes it.
    Stalled,
    /// A node is gone and no other of its name has come.
    NodeLost,
}

/// Local time in which nothing is told.
#[derive(SimpleObject)]
pub(crate) struct QuietHours {
    zone: String,
    #[graphql(complexity = "DECLARED * child_complexity")]
    windows: Vec<CalendarWindow>,
}

/// A rule as a command left it.
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
