use async_graphql::{Context, Object};
use serde_json::json;
use uuid::Uuid;

use super::{
    alert::AlertPayload,
    channel::{AlertChannelPayload, CreateAlertChannelInput, UpdateAlertChannelInput},
    notification::NotificationPayload,
    rule::AlertRulePayload,
    rule_input::{CreateAlertRuleInput, UpdateAlertRuleInput},
};
use crate::{
    api::{
        call::call, context::ContextExt, error::Result, payload::DeletePayload, scalar::Instant,
    },
    commands::{AcknowledgementInput, Call, MuteRequest},
};

/// Mutations of alerts, rules and channels.
#[derive(Default)]
pub(crate) struct AlertMutation;

#[Object]
impl AlertMutation {
    /// Creates a channel.
    async fn create_alert_channel(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The channel to create.")] input: CreateAlertChannelInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<AlertChannelPayload> {
        let right = cx.editor()?;
        let call = call("createAlertChannel", &input, idempotency_key)?;
        let saved = cx.commands().create_alert_channel(&right, input.into(), &call).await?;
        AlertChannelPayload::of(cx, saved).await
    }

    /// Changes a channel.
    async fn update_alert_channel(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The channel's id and what to change.")] input: UpdateAlertChannelInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<AlertChannelPayload> {
        let right = cx.editor()?;
        let call = call("updateAlertChannel", &input, idempotency_key)?;
        let saved = cx.commands().update_alert_channel(&right, input.into(), &call).await?;
        AlertChannelPayload::of(cx, saved).await
    }

    /// Deletes a channel. Refused while a rule uses it.
    async fn delete_alert_channel(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The channel's id.")] id: Uuid,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.editor()?;
        let call = Call::new("deleteAlertChannel", &json!([id]).to_string(), idempotency_key)?;
        let id = cx.commands().delete_alert_channel(&right, id, &call).await?;
        Ok(DeletePayload { id })
    }

    /// Sends a test message; the returned notification shows its delivery.
    async fn test_alert_channel(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The channel's id.")] id: Uuid,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<NotificationPayload> {
        let right = cx.editor()?;
        let call = Call::new("testAlertChannel", &json!([id]).to_string(), idempotency_key)?;
        let sent = cx.commands().test_alert_channel(&right, id, &call).await?;
        NotificationPayload::of(cx, sent.notification).await
    }

    /// Creates an alert rule. It reports only events that occur after its creation.
    async fn create_alert_rule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The rule to create.")] input: CreateAlertRuleInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<AlertRulePayload> {
        let right = cx.editor()?;
        let call = call("createAlertRule", &input, idempotency_key)?;
        let saved = cx.commands().create_alert_rule(&right, input.into(), &call).await?;
        AlertRulePayload::of(cx, saved).await
    }

    /// Changes a rule.
    async fn update_alert_rule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The rule's id and what to change.")] input: UpdateAlertRuleInput,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<AlertRulePayload> {
        let right = cx.editor()?;
        let call = call("updateAlertRule", &input, idempotency_key)?;
        let saved = cx.commands().update_alert_rule(&right, input.into(), &call).await?;
        AlertRulePayload::of(cx, saved).await
    }

    /// Deletes a rule together with the alerts that it has recorded. Messages already being sent
    /// still arrive.
    async fn delete_alert_rule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The rule's id.")] id: Uuid,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<DeletePayload> {
        let right = cx.editor()?;
        let call = Call::new("deleteAlertRule", &json!([id]).to_string(), idempotency_key)?;
        let id = cx.commands().delete_alert_rule(&right, id, &call).await?;
        Ok(DeletePayload { id })
    }

    /// Mutes a rule until an instant within 90 days; null unmutes it. Alerts still open when the
    /// mute ends are reported then; those that ended earlier are not.
    async fn mute_alert_rule(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The rule's id.")] id: Uuid,
        #[graphql(desc = "When the mute ends, within 90 days; if absent, the rule is unmuted.")]
        until: Option<Instant>,
        #[graphql(desc = "Reason for the audit log: 1 to 500 characters.")] reason: String,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<AlertRulePayload> {
        let right = cx.operator()?;
        let until = until.map(|until| until.0);
        let arguments = json!([id, until, reason]).to_string();
        let call = Call::new("muteAlertRule", &arguments, idempotency_key)?;
        let muting = MuteRequest { until, reason };
        let saved = cx.commands().mute_alert_rule(&right, id, &muting, &call).await?;
        AlertRulePayload::of(cx, saved).await
    }

    /// Acknowledges an alert. It stays open, and its end is still reported; its beginning is no
    /// longer reported. With `until`, the acknowledgement ends at that instant, within 90 days, and
    /// an alert that is still open is reported again.
    async fn acknowledge_alert(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The alert's id.")] id: Uuid,
        #[graphql(desc = "A note for other people who see the alert.")] note: Option<String>,
        #[graphql(desc = "When the acknowledgement ends; if absent, when the alert ends.")]
        until: Option<Instant>,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<AlertPayload> {
        let right = cx.operator()?;
        let until = until.map(|until| until.0);
        let arguments = json!([id, note, until]).to_string();
        let call = Call::new("acknowledgeAlert", &arguments, idempotency_key)?;
        let given = AcknowledgementInput { note, until };
        let id = cx.commands().acknowledge_alert(&right, id, &given, &call).await?;
        AlertPayload::of(cx, id).await
    }

    /// Withdraws the acknowledgement of an alert.
    async fn unacknowledge_alert(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The alert's id.")] id: Uuid,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<AlertPayload> {
        let right = cx.operator()?;
        let call = Call::new("unacknowledgeAlert", &json!([id]).to_string(), idempotency_key)?;
        let id = cx.commands().unacknowledge_alert(&right, id, &call).await?;
        AlertPayload::of(cx, id).await
    }

    /// Resends a message whose delivery was given up, starting again at its first attempt.
    async fn retry_notification(
        &self,
        cx: &Context<'_>,
        #[graphql(desc = "The message's id.")] id: Uuid,
        #[graphql(desc = "1 to 128 ASCII characters; a call with the same key is done only once.")]
        idempotency_key: Option<String>,
    ) -> Result<NotificationPayload> {
        let right = cx.operator()?;
        let call = Call::new("retryNotification", &json!([id]).to_string(), idempotency_key)?;
        let id = cx.commands().retry_notification(&right, id, &call).await?;
        NotificationPayload::of(cx, id).await
    }
}
