use entity::{alert::Kind, alert_rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::QuietPeriods;
use crate::{
    search::{Search, SearchError, SearchedList},
    store::alerts::standing::LONGEST_STREAK,
};

/// The events that a rule can report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Event")]
pub enum AlertEvent {
    /// A schedule's runs have begun to fail.
    Failed,
    /// An alert that was reported is over.
    Recovered,
    /// Several of a schedule's runs have failed in a row.
    Losing,
    /// Fires were not run.
    Missed,
    /// A schedule skips fires for load: because of a live run, a full buffer, its start deadline or
    /// a quota.
    Skipped,
    /// A run started late.
    Late,
    /// A schedule is due, or one of its runs waits, and no node takes the work.
    Stalled,
    /// A run takes much longer than usual.
    Slow,
    /// An upcoming clock change affects a schedule's times.
    ClockChange,
    /// A node was lost.
    NodeLost,
}

/// The longest streak of failures that is counted exactly.
pub const MAX_LOSING: i64 = LONGEST_STREAK;

/// The events that a rule reports, when it sends messages, and to which channels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The events that the rule reports.
    pub on: Vec<AlertEvent>,
    /// The schedules that the rule covers, in the search language; empty for all schedules.
    pub search: String,
    /// The channels to which the rule sends messages.
    pub channels: Vec<Uuid>,
    /// An alert that ends within this time is not sent.
    pub grace_seconds: i64,
    /// For `losing`: the number of failures in a row at which the alert begins.
    pub losing_after: i64,
    /// For `skipped`: the number of fires skipped within an hour at which the alert begins.
    #[serde(default = "skipped_after")]
    pub skipped_after: i64,
    /// For `late`: how long after its due time a run must start to count as late.
    pub late_after_seconds: i64,
    /// For `stalled`: how long the work must have waited for a node.
    pub stalled_after_seconds: i64,
    /// For `slow`: how many times its usual duration a run must take.
    #[serde(default = "slow_after")]
    pub slow_after_times: i64,
    /// For `clock_change`: how many days before the change the rule reports it.
    #[serde(default = "clock_change_days")]
    pub clock_change_days: i64,
    /// An alert that becomes ripe within this time after
    /// the first pending one joins the same message.
    pub digest_seconds: i64,
    /// The hours during which the rule sends no messages.
    pub quiet: Option<QuietPeriods>,
    /// Whether messages contain the error texts of failed runs.
    pub include_errors: bool,
}

/// The default for rules that earlier versions stored without this field.
fn skipped_after() -> i64 {
    Rule::SKIPPED_AFTER
}

/// The default for rules that earlier versions stored without this field.
fn slow_after() -> i64 {
    Rule::SLOW_AFTER
}

/// The default for rules that earlier versions stored without this field.
fn clock_change_days() -> i64 {
    Rule::CLOCK_CHANGE_DAYS
}

/// The default values, which the API and module files share.
impl Rule {
    /// The default of [`Rule::grace_seconds`].
    pub const GRACE: i64 = 0;
    /// The default of [`Rule::losing_after`].
    pub const LOSING_AFTER: i64 = 3;
    /// The default of [`Rule::skipped_after`].
    pub const SKIPPED_AFTER: i64 = 3;
    /// The default of [`Rule::late_after_seconds`].
    pub const LATE_AFTER: i64 = 300;
    /// The default of [`Rule::stalled_after_seconds`].
    pub const STALLED_AFTER: i64 = 300;
    /// The default of [`Rule::slow_after_times`].
    pub const SLOW_AFTER: i64 = 3;
    /// The default of [`Rule::clock_change_days`].
    pub const CLOCK_CHANGE_DAYS: i64 = 14;
    /// The default of [`Rule::digest_seconds`].
    pub const DIGEST: i64 = 30;
}

/// Why a rule in the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// The rule's definition cannot be parsed.
    #[error(transparent)]
    Definition(#[from] serde_json::Error),
    /// The rule's search cannot be parsed.
    #[error("search: {0}")]
    Search(#[from] SearchError),
}

impl Rule {
    /// Parses a stored rule and its search; the search is `None` for all schedules.
    pub fn read(definition: Value) -> Result<(Self, Option<Search>), RuleError> {
        let rule: Self = serde_json::from_value(definition)?;
        let search = Search::parse(SearchedList::Schedules, &rule.search)?;
        Ok((rule, (!search.terms.is_empty()).then_some(search)))
    }

    /// Whether the rule reports an event.
    pub fn tells(&self, event: AlertEvent) -> bool {
        self.on.contains(&event)
    }

    /// Whether the rule reports the beginning of alerts of a kind.
    pub fn tells_of(&self, kind: Kind) -> bool {
        self.tells(event_of(kind))
    }

    /// Whether the rule records alerts of a kind.
    /// To report a recovery, it must also record the failure.
    pub(super) fn notes(&self, kind: Kind) -> bool {
        match kind {
            Kind::Failed => {
                let is_alone = !self.tells(AlertEvent::Losing) && self.tells(AlertEvent::Recovered);
                self.tells(AlertEvent::Failed) || is_alone
            }
            Kind::Losing
            | Kind::Missed
            | Kind::Skipped
            | Kind::Late
            | Kind::Stalled
            | Kind::Slow
            | Kind::ClockChange
            | Kind::NodeLost => self.tells(event_of(kind)),
        }
    }
}

/// The event that is reported when an alert of this kind begins.
pub(super) fn event_of(kind: Kind) -> AlertEvent {
    match kind {
        Kind::Failed => AlertEvent::Failed,
        Kind::Losing => AlertEvent::Losing,
        Kind::Missed => AlertEvent::Missed,
        Kind::Skipped => AlertEvent::Skipped,
        Kind::Late => AlertEvent::Late,
        Kind::Stalled => AlertEvent::Stalled,
        Kind::Slow => AlertEvent::Slow,
        Kind::ClockChange => AlertEvent::ClockChange,
        Kind::NodeLost => AlertEvent::NodeLost,
    }
}

/// An enabled rule, read from its row.
#[derive(Clone, Debug)]
pub(super) struct ActiveRule {
    pub(super) row: alert_rule::Model,
    pub(super) rule: Rule,
    /// The rule's search; `None` for all schedules.
    pub(super) search: Option<Search>,
}

impl ActiveRule {
    /// Parses the rules.
    /// Skips those that this version cannot read because a newer Carillon wrote them.
    pub(super) fn read(rows: Vec<alert_rule::Model>) -> Vec<Self> {
        let mut active = Vec::with_capacity(rows.len());
        for row in rows {
            match Rule::read(row.definition.clone()) {
                Ok((rule, search)) => active.push(Self { row, rule, search }),
                Err(error) => {
                    tracing::error!(rule_id = %row.id, %error, "failed to read an alert rule");
                }
            }
        }
        active
    }
}
