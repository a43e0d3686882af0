use async_graphql::{Context, Enum, ID, InputObject, Object, SimpleObject};
use entity::alert_channel::{self, Model};
use uuid::Uuid;

use crate::{
    api::{context::ContextExt, error::Result, loaders::NamespaceName, scalar::Instant},
    commands::{ChannelEdit, ChannelInput, CommandError, NewChannel, SavedChannel},
    store::alerts::channels,
    target::SecretText,
};

/// A destination for messages about alerts. Its address and key are never shown.
pub(crate) struct AlertChannel(pub(crate) Model);

/// A destination for messages about alerts. Its address and key are never shown.
#[Object]
impl AlertChannel {
    pub(crate) async fn id(&self) -> ID {
        self.0.id.into()
    }

    async fn namespace(&self, cx: &Context<'_>) -> Result<String> {
        Ok(cx.rows().load_one(NamespaceName(self.0.namespace_id)).await?.unwrap_or_default())
    }

    async fn name(&self) -> &str {
        &self.0.name
    }

    /// How the channel delivers messages.
    async fn kind(&self) -> AlertChannelKind {
        self.0.kind.into()
    }

    /// Scheme, host and port of the URL that requests go to.
    async fn origin(&self) -> Option<&str> {
        self.0.shown["origin"].as_str()
    }

    /// Whether requests are signed.
    async fn signed(&self) -> bool {
        self.0.shown["signed"].as_bool().unwrap_or_default()
    }

    /// The email addresses that the channel sends to.
    async fn to(&self) -> Vec<&str> {
        let to = self.0.shown["to"].as_array().into_iter().flatten();
        to.filter_map(|address| address.as_str()).collect()
    }

    /// The number of the current version, from 1.
    async fn version(&self) -> i32 {
        self.0.version
    }

    /// The module file that declares the channel, if one does.
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

/// How a channel delivers messages.
#[derive(Enum, Clone, Copy, PartialEq, Eq)]
#[graphql(remote = "alert_channel::Kind")]
pub(crate) enum AlertChannelKind {
    /// A request that is signed according to the Standard Webhooks specification.
    Webhook,
    /// A request in the format that Slack and compatible services accept.
    Slack,
    /// An email sent through the configured mail server.
    Email,
    /// A card for Microsoft Teams, sent to the URL of a Teams workflow.
    Teams,
    /// Events for PagerDuty (Events API v2): an incident for each alert, resolved when it is over.
    Pagerduty,
    /// Alerts for Opsgenie, closed when they are over.
    Opsgenie,
}

/// A channel to create.
#[derive(InputObject)]
pub(crate) struct CreateAlertChannelInput {
    /// The namespace's name.
    #[graphql(default = "default")]
    namespace: String,
    /// Unique in the namespace: 1 to 128 of A-Z a-z 0-9 . _ / -
    name: String,
    /// How the channel delivers messages.
    kind: AlertChannelKind,
    /// For all kinds but EMAIL: the URL that requests go to. Never shown again, unless it names a
    /// secret of the namespace, such as `https://hooks.slack.com/services/{{ secrets.slack_ops }}`:
    /// then the text around the name is shown. PAGERDUTY and OPSGENIE default to the service's
    /// usual address.
    url: Option<String>,
    /// For WEBHOOK: `whsec_` and 24 to 64 random bytes in base64, or `{{ secrets.name }}`. Never
    /// shown again.
    signing_secret: Option<String>,
    /// For PAGERDUTY: the integration key of a service. For OPSGENIE: the key of an API
    /// integration. Either can be `{{ secrets.name }}`. Never shown again.
    key: Option<String>,
    /// For EMAIL: 1 to 50 addresses.
    to: Option<Vec<String>>,
}

/// Absent fields keep their current values.
#[derive(InputObject)]
pub(crate) struct UpdateAlertChannelInput {
    /// The channel's id.
    id: Uuid,
    /// The version that the change is based on; fails with CONFLICT if the database has a newer
    /// one.
    expected_version: i32,
    /// Unique in the namespace: 1 to 128 of A-Z a-z 0-9 . _ / -
    name: Option<String>,
    /// The URL that requests go to. Never shown again.
    url: Option<String>,
    /// An empty string removes the secret. Must be entered again if the URL's origin changes.
    signing_secret: Option<String>,
    /// Must be entered again if the URL's origin changes.
    key: Option<String>,
    /// For EMAIL: the complete list, 1 to 50 addresses.
    to: Option<Vec<String>>,
}

fn hidden(text: Option<String>) -> Option<SecretText> {
    text.map(SecretText::new)
}

impl From<CreateAlertChannelInput> for NewChannel {
    fn from(given: CreateAlertChannelInput) -> Self {
        let CreateAlertChannelInput { namespace, name, kind, url, signing_secret, key, to } = given;
        let [url, signing_secret, key] = [url, signing_secret, key].map(hidden);
        let input = ChannelInput { url, signing_secret, key, to };
        Self { namespace, name, kind: kind.into(), input }
    }
}

impl From<UpdateAlertChannelInput> for ChannelEdit {
    fn from(given: UpdateAlertChannelInput) -> Self {
        let UpdateAlertChannelInput { id, expected_version, name, url, signing_secret, key, to } =
            given;
        let [url, signing_secret, key] = [url, signing_secret, key].map(hidden);
        let input = ChannelInput { url, signing_secret, key, to };
        Self { id, expected_version, name, input }
    }
}

/// A channel after a mutation.
#[derive(SimpleObject)]
pub(crate) struct AlertChannelPayload {
    channel: AlertChannel,
}

impl AlertChannelPayload {
    pub(super) async fn of(cx: &Context<'_>, saved: SavedChannel) -> Result<Self> {
        let row = channels::by_ids(cx.store().read(), &[saved.id]).await?.pop();
        let row = row.filter(|row| cx.is_home(row.namespace_id));
        let row = row.ok_or_else(|| CommandError::not_found("alert channel", saved.id))?;
        Ok(Self { channel: AlertChannel(row) })
    }
}
