use async_graphql::{Context, Enum, Object, SimpleObject};
use entity::notification::{self, Model};
use uuid::Uuid;

use super::{channel::AlertChannel, rule::AlertRule};
use crate::{
    api::{
        context::ContextExt,
        error::Result,
        loaders::{AlertChannelRow, AlertRuleRow, NamespaceName},
        scalar::Instant,
    },
    commands::CommandError,
    store::alerts::outbox,
};

/// A message to a channel.
pub(crate) struct Notification(pub(crate) Model);

/// A message to a channel.
#[Object]
impl Notification {
    /// The same for all attempts: webhooks carry it as `webhook-id`, emails as their Message-ID.
    async fn id(&self) -> Uuid {
        self.0.id
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    /// Null for a test message, or if the rule is gone.
    async fn rule(&self, cx: &Context<'_>) -> Result<Option<AlertRule>> {
        let Some(id) = self.0.rule_id else { return Ok(None) };
        Ok(cx.rows().load_one(AlertRuleRow(id)).await?.map(AlertRule))
    }

    /// Null if the channel is gone.
    async fn channel(&self, cx: &Context<'_>) -> Result<Option<AlertChannel>> {
        Ok(cx.rows().load_one(AlertChannelRow(self.0.channel_id)).await?.map(AlertChannel))
    }

    /// The state of the delivery.
    async fn state(&self) -> NotificationState {
        self.0.state.into()
    }

    /// The message in one line.
    async fn subject(&self) -> &str {
        &self.0.subject
    }

    /// How many alerts the message reports.
    async fn alerts(&self) -> i64 {
        self.0.alerts
    }

    /// How many delivery attempts were made.
    async fn attempts(&self) -> i32 {
        self.0.attempts
    }

    /// When the next delivery attempt is due; null if there is none.
    async fn next_attempt_at(&self) -> Option<Instant> {
        let is_pending = self.0.state == notification::State::Pending;
        is_pending.then(|| self.0.next_attempt_at.into())
    }

    /// Why the last delivery attempt failed.
    async fn error(&self) -> Option<&str> {
        self.0.error.as_deref()
    }

    async fn created_at(&self) -> Instant {
        self.0.created_at.into()
    }

    /// When the message was sent or given up.
    async fn settled_at(&self) -> Option<Instant> {
        self.0.settled_at.map(Into::into)
    }
}

/// The delivery state of a message.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "notification::State")]
pub(crate) enum NotificationState {
    /// The notification waits for its first or next delivery attempt.
    Pending,
    /// The receiver accepted the message.
    Sent,
    /// The delivery was given up after the last permitted attempt.
    Dead,
}

/// A message after a mutation.
#[derive(SimpleObject)]
pub(crate) struct NotificationPayload {
    notification: Notification,
}

impl NotificationPayload {
    pub(super) async fn of(cx: &Context<'_>, id: Uuid) -> Result<Self> {
        let row = outbox::by_id(cx.store().read(), id).await?;
        let row = row.filter(|row| cx.is_home(row.namespace_id));
        let row = row.ok_or_else(|| CommandError::not_found("notification", id))?;
        Ok(Self { notification: Notification(row) })
    }
}
