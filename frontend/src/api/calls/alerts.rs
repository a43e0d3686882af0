//! Alerts, rules, channels and deliveries.

use super::within;
use crate::{
    api::{
        Ask,
        operations::alerts::{self as operations, *},
    },
    model::{self, Page, Place, RulePreview},
    time::Moment,
};

pub(crate) use operations::{
    alert_rule_preview, create_alert_channel, create_alert_rule, update_alert_channel,
    update_alert_rule,
};

/// Which alerts are listed. An open alert is in exactly one of the first three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AlertStanding {
    Open,
    Acknowledged,
    /// The rule of the alert is muted.
    Muted,
    Over,
}

/// Alerts, newest first.
pub(crate) fn list(
    namespace: String,
    standing: AlertStanding,
    place: Place,
    size: usize,
) -> Ask<Page<model::Alert>> {
    let namespace = within(namespace);
    let (acknowledged, muted) = match standing {
        AlertStanding::Open => (Some(false), Some(false)),
        AlertStanding::Acknowledged => (Some(true), Some(false)),
        AlertStanding::Muted => (None, Some(true)),
        AlertStanding::Over => (None, None),
    };
    let open = Some(standing != AlertStanding::Over);
    let (rule_id, schedule_id) = (None, None);
    let filter = alerts::AlertFilter { rule_id, schedule_id, open, acknowledged, muted };
    let (first, after) = place.forward(size);
    Ask::new::<Alerts>(alerts::Variables { namespace, filter: Some(filter), first, after })
}

/// The latest alert of a rule, with the total number of its alerts.
pub(crate) fn of_rule(namespace: String, rule: String) -> Ask<Page<model::Alert>> {
    let filter = alerts::AlertFilter {
        rule_id: Some(rule),
        schedule_id: None,
        open: None,
        acknowledged: None,
        muted: None,
    };
    let (namespace, filter) = (within(namespace), Some(filter));
    Ask::new::<Alerts>(alerts::Variables { namespace, filter, first: 1, after: None })
}

pub(crate) fn rules(namespace: String) -> Ask<Vec<model::AlertRule>> {
    Ask::new::<AlertRules>(alert_rules::Variables { namespace: within(namespace) })
}

pub(crate) fn channels(namespace: String) -> Ask<Vec<model::AlertChannel>> {
    Ask::new::<AlertChannels>(alert_channels::Variables { namespace: within(namespace) })
}

pub(crate) fn preview(input: alert_rule_preview::CreateAlertRuleInput) -> Ask<RulePreview> {
    Ask::new::<AlertRulePreview>(alert_rule_preview::Variables { input, days: 7 })
}

pub(crate) fn deliveries(
    namespace: String,
    state: Option<model::NotificationState>,
    place: Place,
    size: usize,
) -> Ask<Page<model::Notification>> {
    let (namespace, (first, after)) = (within(namespace), place.forward(size));
    Ask::new::<Notifications>(notifications::Variables { namespace, state, first, after })
}

pub(crate) fn create_rule(
    input: create_alert_rule::CreateAlertRuleInput,
    key: String,
) -> Ask<String> {
    Ask::new::<CreateAlertRule>(create_alert_rule::Variables { input, key: Some(key) })
}

pub(crate) fn update_rule(input: update_alert_rule::UpdateAlertRuleInput) -> Ask<String> {
    Ask::new::<UpdateAlertRule>(update_alert_rule::Variables { input })
}

pub(crate) fn delete_rule(id: String) -> Ask<String> {
    Ask::new::<DeleteAlertRule>(delete_alert_rule::Variables { id })
}

pub(crate) fn mute(id: String, until: Option<Moment>, reason: String) -> Ask<String> {
    Ask::new::<MuteAlertRule>(mute_alert_rule::Variables { id, until, reason })
}

pub(crate) fn acknowledge(id: String, note: Option<String>, until: Option<Moment>) -> Ask<String> {
    Ask::new::<AcknowledgeAlert>(acknowledge_alert::Variables { id, note, until })
}

pub(crate) fn unacknowledge(id: String) -> Ask<String> {
    Ask::new::<UnacknowledgeAlert>(unacknowledge_alert::Variables { id })
}

pub(crate) fn acknowledge_problem(
    schedule: String,
    id: String,
    note: Option<String>,
    until: Option<Moment>,
) -> Ask<String> {
    Ask::new::<AcknowledgeProblem>(acknowledge_problem::Variables { schedule, id, note, until })
}

pub(crate) fn unacknowledge_problem(schedule: String, id: String) -> Ask<String> {
    Ask::new::<UnacknowledgeProblem>(unacknowledge_problem::Variables { schedule, id })
}

pub(crate) fn create_channel(
    input: create_alert_channel::CreateAlertChannelInput,
    key: String,
) -> Ask<String> {
    Ask::new::<CreateAlertChannel>(create_alert_channel::Variables { input, key: Some(key) })
}

/// Changes a channel. Absent fields keep their current values.
pub(crate) fn update_channel(input: update_alert_channel::UpdateAlertChannelInput) -> Ask<String> {
    let absent = [("url", input.url.is_none()), ("signingSecret", input.signing_secret.is_none())];
    let ask = Ask::new::<UpdateAlertChannel>(update_alert_channel::Variables { input });
    absent
        .into_iter()
        .filter(|(_, is_absent)| *is_absent)
        .fold(ask, |ask, (field, _)| ask.without("/variables/input", field))
}

pub(crate) fn delete_channel(id: String) -> Ask<String> {
    Ask::new::<DeleteAlertChannel>(delete_alert_channel::Variables { id })
}

/// Sends a test message; returns its id.
pub(crate) fn test_channel(id: String) -> Ask<String> {
    Ask::new::<TestAlertChannel>(test_alert_channel::Variables { id })
}

pub(crate) fn retry(id: String) -> Ask<String> {
    Ask::new::<RetryNotification>(retry_notification::Variables { id })
}
