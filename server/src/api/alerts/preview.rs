use async_graphql::SimpleObject;

use crate::{api::scalar::Instant, engine::alerting::alerts::Preview};

/// The most days that a rule is tried out against.
pub(super) const MAX_DAYS: i64 = 30;

/// What a rule would have told in the past that the ledger still has. What stalled, and which nodes
/// were lost, it does not say.
#[derive(SimpleObject)]
pub(crate) struct AlertRulePreview {
    from: Instant,
    to: Instant,
    /// What each of its channels would have got, oldest first, 200 at the most.
    messages: Vec<AlertRulePreviewMessage>,
    /// How many alerts it would have taken note of.
    alerts: i64,
    /// Whether there was more than was looked at (5,000 runs that failed, 5,000 that were late,
    /// 5,000 fires that did not run), or more messages than these.
    is_cut: bool,
}

/// A message that would have been sent.
#[derive(SimpleObject)]
pub(crate) struct AlertRulePreviewMessage {
    at: Instant,
    /// In one line.
    subject: String,
    /// How many alerts it tells.
    alerts: i64,
}

impl From<Preview> for AlertRulePreview {
    fn from(preview: Preview) -> Self {
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
