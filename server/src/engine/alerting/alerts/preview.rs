use chrono::{DateTime, TimeDelta, Utc};
use entity::alert_rule;
use serde_json::json;
use uuid::Uuid;

use super::{
    history::EventHistory,
    replay,
    rule::{ActiveRule, Rule},
};
use crate::{
    search::{Search, SearchedList},
    store::{Store, StoreError},
};

/// The alerts and messages that a rule would have produced from the past in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePreview {
    /// The start of the period.
    pub from: DateTime<Utc>,
    /// The end of the period.
    pub to: DateTime<Utc>,
    /// The messages to each channel, oldest first: at most 200.
    pub messages: Vec<ForetoldMessage>,
    /// Number of alerts that the rule would have recorded.
    pub alerts: usize,
    /// Whether more rows exist than were read, or more messages than are listed.
    pub is_cut: bool,
}

/// A message that the rule would have sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForetoldMessage {
    /// When the message would have been sent.
    pub at: DateTime<Utc>,
    /// The message's subject: one line.
    pub subject: String,
    /// Number of alerts in the message.
    pub alerts: usize,
}

const MAX_MESSAGES: usize = 200;

impl RulePreview {
    /// Previews a rule of a namespace, which is given by id and name, for a number of days.
    /// The preview ignores muting and existing alerts. It leaves out stalled schedules, because
    /// nothing records that no node took the work.
    pub async fn of(
        store: &Store,
        timings: &timetable::Cache,
        namespace: Uuid,
        name: &str,
        rule: Rule,
        now: DateTime<Utc>,
        days: i64,
    ) -> Result<Self, StoreError> {
        let from = now - TimeDelta::try_days(days).unwrap_or_default();
        let active = active(namespace, rule, from);
        let history = EventHistory { store, timings, active: &active, from, now };
        let (past, scopes) = history.read().await?;
        let alerts = replay::alerts(&active, &scopes, &past, now);
        let count = alerts.len();
        let silence = active.rule.quiet.as_ref().and_then(|quiet| quiet.silence(from).ok());
        let mut messages =
            replay::told(&active, name, alerts, silence.as_ref(), now, MAX_MESSAGES + 1);
        let is_cut = past.is_cut || messages.len() > MAX_MESSAGES;
        messages.truncate(MAX_MESSAGES);
        Ok(Self { from, to: now, messages, alerts: count, is_cut })
    }
}

/// The rule as if it had existed for the whole period.
fn active(namespace_id: Uuid, rule: Rule, since: DateTime<Utc>) -> ActiveRule {
    let row = alert_rule::Model {
        id: Uuid::nil(),
        namespace_id,
        name: "preview".to_owned(),
        definition: json!({}),
        enabled: true,
        since: since.into(),
        muted_until: None,
        muted_by: None,
        muted_reason: None,
        version: 1,
        module: None,
        created_at: since.into(),
        updated_at: since.into(),
    };
    let search = Search::parse(SearchedList::Schedules, &rule.search).ok();
    let search = search.filter(|search| !search.terms.is_empty());
    ActiveRule { row, rule, search }
}
