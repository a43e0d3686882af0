//! The operations of the alert pages.

use graphql_client::GraphQLQuery;

use super::{DateTime, Long, Operation, UUID};
use crate::model::{
    Alert, AlertChannel, AlertChannelKind, AlertEvent, AlertKind, AlertRule, Notification,
    NotificationState, Page, RulePreview, Weekday,
};

operations! {
    Alerts = "graphql/alerts.graphql", "/alerts" => Page<Alert>;
    AlertRules = "graphql/alert_rules.graphql", "/alertRules" => Vec<AlertRule>;
    AlertChannels = "graphql/alert_channels.graphql", "/alertChannels" => Vec<AlertChannel>;
    AlertRulePreview = "graphql/alert_rule_preview.graphql", "/alertRulePreview" => RulePreview;
    Notifications = "graphql/notifications.graphql", "/notifications" => Page<Notification>;
    CreateAlertRule = "graphql/create_alert_rule.graphql", "/createAlertRule/rule/id" => String;
    UpdateAlertRule = "graphql/update_alert_rule.graphql", "/updateAlertRule/rule/id" => String;
    DeleteAlertRule = "graphql/delete_alert_rule.graphql", "/deleteAlertRule/id" => String;
    MuteAlertRule = "graphql/mute_alert_rule.graphql", "/muteAlertRule/rule/id" => String;
    AcknowledgeAlert = "graphql/acknowledge_alert.graphql", "/acknowledgeAlert/alert/id" => String;
    UnacknowledgeAlert = "graphql/unacknowledge_alert.graphql", "/unacknowledgeAlert/alert/id" => String;
    AcknowledgeProblem = "graphql/acknowledge_problem.graphql", "/acknowledgeProblem/id" => String;
    UnacknowledgeProblem = "graphql/unacknowledge_problem.graphql", "/unacknowledgeProblem/id" => String;
    CreateAlertChannel = "graphql/create_alert_channel.graphql", "/createAlertChannel/channel/id" => String;
    UpdateAlertChannel = "graphql/update_alert_channel.graphql", "/updateAlertChannel/channel/id" => String;
    DeleteAlertChannel = "graphql/delete_alert_channel.graphql", "/deleteAlertChannel/id" => String;
    TestAlertChannel = "graphql/test_alert_channel.graphql", "/testAlertChannel/notification/id" => String;
    RetryNotification = "graphql/retry_notification.graphql", "/retryNotification/notification/id" => String;
}
