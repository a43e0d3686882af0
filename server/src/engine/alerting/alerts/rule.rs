use entity::{alert::Kind, alert_rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Quiet;
use crate::{
    search::{List, Search},
    store::alerts::standing::LONGEST_STREAK,
};

/// What a rule tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A schedule's runs begin to fail.
    Failed,
    /// What was told is over.
    Recovered,
    /// So many runs have failed in a row.
    Losing,
    /// Fires did not run.
    Missed,
    /// A run started late.
    Late,
    /// A schedule is due, or a run of it waits, and nobody takes it.
    Stalled,
    /// A run takes much longer than usual.
    Slow,
    /// A coming change of the clocks touches a schedule's times.
    ClockChange,
    /// A node is gone.
    NodeLost,
}

/// So many failures in a row can be counted.
pub const MAX_LOSING: i64 = LONGEST_STREAK;

/// What a rule looks for, when it tells, and whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// What it tells of.
    pub on: Vec<Event>,
    /// About which schedules, in the search language; all, if empty.
    pub search: String,
    /// The channels that it tells.
    pub channels: Vec<Uuid>,
    /// What is over before is not told.
    pub grace_seconds: i64,
    /// For `losing`: so many failures in a row.
    pub losing_after: i64,
    /// For `late`: started so long after it was due.
    pub late_after_seconds: i64,
    /// For `stalled`: nobody has taken it for so long.
    pub stalled_after_seconds: i64,
    /// For `slow`: it has taken so many times its usual duration.
    pub slow_after_times: i64,
    /// For `clock_change`: so many days before.
    pub clock_change_days: i64,
    /// What happens within so long of the first that is to be told goes into one message.
    pub digest_seconds: i64,
    /// When nothing is told until it is over.
    pub quiet: Option<Quiet>,
    /// Whether messages say why a run failed, in its own words.
    pub include_errors: bool,
}

/// What a rule is where whoever makes it does not say: by hand and in a module's file alike.
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
    /// Whether it tells of that.
    pub fn tells(&self, event: Event) -> bool {
        self.on.contains(&event)
    }

    /// Whether it takes note of that: what fails must be known for its recovery to be told.
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

/// What is told of an alert when it begins.
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

/// A rule that does something, read from its row.
#[derive(Clone, Debug)]
pub(super) struct Active {
    pub(super) row: alert_rule::Model,
    pub(super) rule: Rule,
    /// None for all schedules.
    pub(super) search: Option<Search>,
}

impl Active {
    /// The rules that can be read. One that cannot, which a newer Carillon wrote, does not hold up
    /// the others.
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
