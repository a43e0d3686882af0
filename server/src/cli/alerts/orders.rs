use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{CliError, Server, find, output};
use crate::cli::{when::future, why::Why};

/// Acknowledge an alert; it stays open, and its end is still reported
#[derive(Debug, Args)]
pub(super) struct Ack {
    #[command(flatten)]
    server: Server,
    /// The alert's id; see 'carillon alerts list'
    alert: Uuid,
    /// A note for other people who see the alert
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// End of the acknowledgement, within 90 days; an alert that is still open is then reported
    /// again
    #[arg(long, value_name = "WHEN", value_parser = future)]
    until: Option<DateTime<Utc>>,
    #[command(flatten)]
    why: Why,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// A rule of a server.
#[derive(Debug, Args)]
struct OneRule {
    #[command(flatten)]
    server: Server,
    /// The rule's name; see 'carillon alerts rules'
    rule: String,
    /// Namespace of the rule
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Reason, for people who wonder why no message arrives
    #[arg(long)]
    reason: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// Mute a rule until an instant; alerts that are still open then are reported at that time
#[derive(Debug, Args)]
pub(super) struct Mute {
    #[command(flatten)]
    one: OneRule,
    /// End of the mute, within 90 days
    #[arg(long, value_name = "WHEN", value_parser = future)]
    until: DateTime<Utc>,
}

/// Unmute a rule
#[derive(Debug, Args)]
pub(super) struct Unmute {
    #[command(flatten)]
    one: OneRule,
}

/// Resend a message whose delivery was given up
#[derive(Debug, Args)]
pub(super) struct Retry {
    #[command(flatten)]
    server: Server,
    /// The message's id; see 'carillon alerts messages --dead'
    message: Uuid,
    #[command(flatten)]
    why: Why,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

/// Send a test message to a channel
#[derive(Debug, Args)]
pub(super) struct Test {
    #[command(flatten)]
    server: Server,
    /// The channel's name
    channel: String,
    /// Namespace of the channel
    #[arg(long, default_value = "default")]
    namespace: String,
    #[command(flatten)]
    why: Why,
}

const ACK: &str = "mutation ($id: UUID!, $note: String, $until: DateTime) {
    done: acknowledgeAlert(id: $id, note: $note, until: $until) {
        alert { id kind subject acknowledgedBy acknowledgedNote acknowledgedUntil endedAt }
    }
}";
const MUTE: &str = "mutation ($id: UUID!, $until: DateTime, $reason: String!) {
    done: muteAlertRule(id: $id, until: $until, reason: $reason) {
        rule { id name mutedUntil mutedBy mutedReason }
    }
}";
const RETRY: &str = "mutation ($id: UUID!) {
    done: retryNotification(id: $id) { notification { id state subject nextAttemptAt } }
}";
const TEST: &str = "mutation ($id: UUID!) {
    testAlertChannel(id: $id) { notification { id } }
}";

impl Ack {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let asked = json!({ "id": self.alert, "note": self.note, "until": self.until });
        let done = self.server.order("acknowledge the alert", ACK, asked, &self.why).await?;
        let alert = &done["done"]["alert"];
        if self.json {
            return output::json(alert);
        }
        let (about, by) = (output::cell(&alert["subject"]), output::cell(&alert["acknowledgedBy"]));
        output::line(format!(
            "{} about {about}: acknowledged by {by}",
            output::cell(&alert["kind"]).to_lowercase()
        ))
    }
}

impl OneRule {
    async fn mute(
        &self,
        action: &'static str,
        until: Option<DateTime<Utc>>,
    ) -> Result<Value, CliError> {
        let id =
            find(&self.server, action, "rule", "alertRules", &self.namespace, &self.rule).await?;
        let asked = json!({ "id": id, "until": until, "reason": self.reason });
        Ok(self.server.ask(action, MUTE, asked).await?["done"]["rule"].take())
    }
}

impl Mute {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let rule = self.one.mute("mute the rule", Some(self.until)).await?;
        if self.one.json {
            return output::json(&rule);
        }
        let (name, until) = (output::cell(&rule["name"]), output::cell(&rule["mutedUntil"]));
        output::line(format!("{name} is muted until {until}"))
    }
}

impl Unmute {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let rule = self.one.mute("unmute the rule", None).await?;
        if self.one.json {
            return output::json(&rule);
        }
        output::line(format!("{} is no longer muted", output::cell(&rule["name"])))
    }
}

impl Retry {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let asked = json!({ "id": self.message });
        let done = self.server.order("retry the message", RETRY, asked, &self.why).await?;
        let message = &done["done"]["notification"];
        if self.json {
            return output::json(message);
        }
        output::line(format!("{} will be sent again", output::cell(&message["id"])))
    }
}

impl Test {
    pub(super) async fn run(self) -> Result<(), CliError> {
        const ACTION: &str = "test the channel";
        let id =
            find(&self.server, ACTION, "channel", "alertChannels", &self.namespace, &self.channel)
                .await?;
        let sent = self.server.order(ACTION, TEST, json!({ "id": id }), &self.why).await?;
        let id = sent["testAlertChannel"]["notification"]["id"].as_str().unwrap_or_default();
        output::line(format!("A message is on its way: {id} in 'carillon alerts messages'"))
    }
}
