use entity::{alert::Kind, alert_rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::Quiet;
use crate::{
    search::{List, Search, SearchError},
    store::alerts::standing::LONGEST_STREAK,
};

/// The events that a rule can report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A schedule's runs begin to fail.
    Failed,
    /// A reported alert is over.
    Recovered,
    /// A number of a schedule's runs have failed in a row.
    Losing,
    /// Fires were not run.
    Missed,
    /// A run started late.
    Late,
    /// No node takes a due schedule, or one of its runs that waits.
    Stalled,
    /// A run takes much longer than usual.
    Slow,
    /// An upcoming clock change affects a schedule's times.
    ClockChange,
    /// A node was lost.
    NodeLost,
}

/// The longest streak of failures that is counted.
pub const MAX_LOSING: i64 = LONGEST_STREAK;

/// What a rule watches for, when it sends messages, and to which channels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The events that it reports.
    pub on: Vec<Event>,
    /// The schedules that it covers, in the search language; all if empty.
    pub search: String,
    /// The channels that it sends to.
    pub channels: Vec<Uuid>,
    /// An alert that ends within this time is not sent.
    pub grace_seconds: i64,
    /// For `losing`: the number of failures in a row.
    pub losing_after: i64,
    /// For `late`: how long after it was due a run counts as late.
    pub late_after_seconds: i64,
    /// For `stalled`: how long the work must have waited for a node.
    pub stalled_after_seconds: i64,
    /// For `slow`: how many times its usual duration a run must have taken.
    #[serde(default = "slow_after")]
    pub slow_after_times: i64,
    /// For `clock_change`: how many days in advance it reports.
    #[serde(default = "clock_change_days")]
    pub clock_change_days: i64,
    /// Alerts that become ripe within this time after the first pending one share its message.
    pub digest_seconds: i64,
    /// Quiet hours, during which nothing is sent.
    pub quiet: Option<Quiet>,
    /// Whether messages contain the error texts of failed runs.
    pub include_errors: bool,
}

/// For rules that earlier versions stored without this value.
fn slow_after() -> i64 {
    Rule::SLOW_AFTER
}

/// For rules that earlier versions stored without this value.
fn clock_change_days() -> i64 {
    Rule::CLOCK_CHANGE_DAYS
}

/// The defaults, used by the API and by module files alike.
impl Rule {
    /// The default of [`Rule::grace_seconds`].
    pub const GRACE: i64 = 0;
    /// The default of [`Rule::losing_after`].
    pub const LOSING_AFTER: i64 = 3;
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

/// Why a stored rule cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// Its definition cannot be parsed.
    #[error(transparent)]
    Definition(#[from] serde_json::Error),
    /// Its search cannot be parsed.
    #[error("search: {0}")]
    Search(#[from] SearchError),
}

impl Rule {
    /// Parses a stored rule and its search, which is `None` for all schedules.
    pub fn read(definition: Value) -> Result<(Self, Option<Search>), RuleError> {
        let rule: Self = serde_json::from_value(definition)?;
        let search = Search::parse(List::Schedules, &rule.search)?;
        Ok((rule, (!search.terms.is_empty()).then_some(search)))
    }

    /// Whether it reports this event.
    pub fn tells(&self, event: Event) -> bool {
        self.on.contains(&event)
    }

    /// Whether it reports the beginning of alerts of this kind.
    pub fn tells_of(&self, kind: Kind) -> bool {
        self.tells(event_of(kind))
    }

    /// Whether it records this kind: a failure must be recorded for its recovery to be reported.
    pub(super) fn notes(&self, kind: Kind) -> bool {
        match kind {
            Kind::Failed => {
                let is_alone = !self.tells(Event::Losing) && self.tells(Event::Recovered);
                self.tells(Event::Failed) || is_alone
            }
            Kind::Losing
            | Kind::Missed
            | Kind::Late
            | Kind::Stalled
            | Kind::Slow
            | Kind::ClockChange
            | Kind::NodeLost => self.tells(event_of(kind)),
        }
    }
}

/// The event that is reported when an alert of this kind begins.
pub(super) fn event_of(kind: Kind) -> Event {
    match kind {
        Kind::Failed => Event::Failed,
        Kind::Losing => Event::Losing,
        Kind::Missed => Event::Missed,
        Kind::Late => Event::Late,
        Kind::Stalled => Event::Stalled,
        Kind::Slow => Event::Slow,
        Kind::ClockChange => Event::ClockChange,
        Kind::NodeLost => Event::NodeLost,
    }
}

/// An enabled rule, read from its row.
#[derive(Clone, Debug)]
pub(super) struct Active {
    pub(super) row: alert_rule::Model,
    pub(super) rule: Rule,
    /// `None` for all schedules.
    pub(super) search: Option<Search>,
}

impl Active {
    /// Parses the rules, and skips those that this version cannot read because a newer Carillon
    /// wrote them.
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
