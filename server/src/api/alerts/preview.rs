use async_graphql::SimpleObject;

use crate::{api::scalar::Instant, engine::alerting::alerts::RulePreview};

/// Maximum number of past days for which a rule is previewed.
pub(super) const MAX_DAYS: i64 = 30;

/// What a rule would have reported for the part of the past that is still recorded. Stalls are not
/// included, because nothing records them. A slow run is measured against the runs before it, and
/// clock changes are computed from the present definitions of the schedules.
#[derive(SimpleObject)]
pub(crate) struct AlertRulePreview {
    /// Start of the examined range, inclusive.
    from: Instant,
    /// End of the examined range: now.
    to: Instant,
    /// The messages that each of its channels would have received, oldest first; at most 200.
    messages: Vec<AlertRulePreviewMessage>,
    /// How many alerts the rule would have recorded.
    alerts: i64,
    /// Whether the preview is incomplete: it reads at most 5,000 failed runs, 5,000 late runs,
    /// 5,000 runs longer than a minute of 200 schedules, 5,000 fires that did not run, 5,000 that
    /// were skipped for load, 5,000 lost nodes and 5,000 schedules whose clock may change, and
    /// lists at most 200 messages.
    is_cut: bool,
}

/// A message that would have been sent.
#[derive(SimpleObject)]
pub(crate) struct AlertRulePreviewMessage {
    /// When it would have been sent.
    at: Instant,
    /// The message in one line.
    subject: String,
    /// How many alerts the message reports.
    alerts: i64,
}

impl From<RulePreview> for AlertRulePreview {
    fn from(preview: RulePreview) -> Self {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let messages = preview.messages.into_iter().map(|message| AlertRulePreviewMessage {
            at: Instant(message.at),
            subject: message.subject,
            alerts: count(message.alerts),
        });
        Self {
            from: Instant(preview.from),
            to: Instant(preview.to),
            messages: messages.collect(),
            alerts: count(preview.alerts),
            is_cut: preview.is_cut,
        }
    }
}
