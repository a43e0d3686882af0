use entity::{alert::Kind, alert_rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Quiet;
use crate::{
    search::{List, Search},
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
    /// A number of runs have failed in a row.
    Losing,
    /// Fires were not run.
    Missed,
    /// A run started late.
    Late,
    /// A schedule is due, or one of its runs waits, and no node takes it.
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
    /// For `stalled`: how long no node has taken it.
    pub stalled_after_seconds: i64,
    /// For `slow`: the multiple of its usual duration that a run has taken.
    #[serde(default = "slow_after")]
    pub slow_after_times: i64,
    /// For `clock_change`: how many days in advance it reports.
    #[serde(default = "clock_change_days")]
    pub clock_change_days: i64,
    /// Alerts within this time of the first pending one go into the same message.
    pub digest_seconds: i64,
    /// Quiet hours, during which nothing is sent.
    pub quiet: Option<Quiet>,
    /// Whether messages contain the error texts of failed runs.
    pub include_errors: bool,
}

/// Rules that were stored by earlier versions have none.
fn slow_after() -> i64 {
    Rule::SLOW_AFTER
}

/// Rules that were stored by earlier versions have none.
fn clock_change_days() -> i64 {
    Rule::CLOCK_CHANGE_DAYS
}

/// The defaults, used by the API and by module files alike.
impl Rule {
    /// For [`Rule::grace_seconds`].
    pub const GRACE: i64 = 0;
    /// For [`Rule::losing_after`].
    pub const LOSING_AFTER: i64 = 3;
    /// For [`Rule::late_after_seconds`].
    pub const LATE_AFTER: i64 = 300;
    /// For [`Rule::stalled_after_seconds`].
    pub const STALLED_AFTER: i64 = 300;
    /// For [`Rule::slow_after_times`].
    pub const SLOW_AFTER: i64 = 3;
    /// For [`Rule::clock_change_days`].
    pub const CLOCK_CHANGE_DAYS: i64 = 14;
    /// For [`Rule::digest_seconds`].
    pub const DIGEST: i64 = 30;
}

impl Rule {
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
    /// Reads the rules that can be parsed. One that cannot, because a newer Carillon wrote it, does
    /// not hold up the others.
    pub(super) fn read(rows: Vec<alert_rule::Model>) -> Vec<Self> {
        let mut active = Vec::with_capacity(rows.len());
        for row in rows {
            match serde_json::from_value::<Rule>(row.definition.clone()) {
                Ok(rule) => match Search::parse(List::Schedules, &rule.search) {
                    Ok(search) => {
                        let search = (!search.terms.is_empty()).then_some(search);
                        active.push(Self { row, rule, search });
                    }
                    Err(error) => {
                        tracing::error!(rule = %row.id, "failed to read its search: {error}");
                    }
                },
                Err(error) => {
                    tracing::error!(rule = %row.id, "failed to read an alert rule: {error}")
                }
            }
        }
        active
    }
}
