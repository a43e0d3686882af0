//! Alerts, the rules that raise them, the channels that deliver them, and the messages that were sent.

use serde::Deserialize;

use super::{
    AlertChannelKind, AlertEvent, AlertKind, Named, NotificationState, Row, Window,
    run::ScheduleRef,
};
use crate::time::Moment;

/// An alert that a rule has raised.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Alert {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) kind: AlertKind,
    pub(crate) rule: Option<RuleRef>,
    pub(crate) schedule: Option<ScheduleRef>,
    pub(crate) subject: String,
    pub(crate) run_id: Option<String>,
    pub(crate) fire_id: Option<String>,
    pub(crate) detail: Option<String>,
    pub(crate) count: i64,
    pub(crate) began_at: Moment,
    pub(crate) last_at: Moment,
    pub(crate) ended_at: Option<Moment>,
    pub(crate) told_at: Option<Moment>,
    pub(crate) acknowledged_at: Option<Moment>,
    pub(crate) acknowledged_by: Option<String>,
    pub(crate) acknowledged_note: Option<String>,
    pub(crate) acknowledged_until: Option<Moment>,
}

/// The rule of an alert, with the fields that the alert shows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RuleRef {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) muted_until: Option<Moment>,
}

impl Alert {
    pub(crate) fn muted_until(&self) -> Option<Moment> {
        self.rule.as_ref().and_then(|rule| rule.muted_until)
    }
}

impl Row for Alert {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A rule: the events that it reports, and the channels that get the reports.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AlertRule {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) enabled: bool,
    pub(crate) on: Vec<AlertEvent>,
    pub(crate) search: String,
    pub(crate) channels: Vec<ChannelRef>,
    pub(crate) grace_seconds: i64,
    pub(crate) losing_after: i64,
    pub(crate) skipped_after: i64,
    pub(crate) late_after_seconds: i64,
    pub(crate) stalled_after_seconds: i64,
    pub(crate) slow_after_times: i64,
    pub(crate) clock_change_days: i64,
    pub(crate) digest_seconds: i64,
    pub(crate) quiet: Option<Quiet>,
    pub(crate) include_errors: bool,
    pub(crate) muted_until: Option<Moment>,
    pub(crate) muted_by: Option<String>,
    pub(crate) muted_reason: Option<String>,
    pub(crate) version: i64,
    pub(crate) module: Option<String>,
}

/// A channel, by key and name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ChannelRef {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// Local times at which no message is sent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Quiet {
    pub(crate) zone: String,
    pub(crate) windows: Vec<Window>,
}

/// A channel that delivers alerts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct AlertChannel {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) kind: AlertChannelKind,
    pub(crate) origin: Option<String>,
    pub(crate) signed: bool,
    pub(crate) to: Vec<String>,
    pub(crate) version: i64,
    pub(crate) module: Option<String>,
}

/// The messages that a rule would have sent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RulePreview {
    pub(crate) alerts: i64,
    pub(crate) is_cut: bool,
    pub(crate) messages: Vec<PastMessage>,
}

/// A message that a rule would have sent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct PastMessage {
    pub(crate) at: Moment,
    pub(crate) subject: String,
    pub(crate) alerts: i64,
}

/// A message, and its delivery.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Notification {
    pub(crate) id: String,
    pub(crate) namespace: String,
    pub(crate) state: NotificationState,
    pub(crate) subject: String,
    pub(crate) alerts: i64,
    pub(crate) attempts: i64,
    pub(crate) next_attempt_at: Option<Moment>,
    pub(crate) error: Option<String>,
    pub(crate) created_at: Moment,
    pub(crate) settled_at: Option<Moment>,
    pub(crate) rule: Option<Named>,
    pub(crate) channel: Option<Named>,
}

impl Row for Notification {
    fn id(&self) -> &str {
        &self.id
    }
}
