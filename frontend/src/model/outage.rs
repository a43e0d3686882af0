//! What each catch-up policy would do about an outage.

use serde::Deserialize;

use super::{CatchUp, FireKind, ReasonCode, Verdict};
use crate::time::{Moment, grouped};

/// The effect of an outage on schedules.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outage {
    /// How many of their instants become due.
    pub(crate) expected: i64,
    /// What becomes of them under the policies that the schedules have.
    pub(crate) own: Option<OutageCounts>,
    /// What would become of them if all schedules had the same policy.
    pub(crate) totals: Vec<OutageTotal>,
    pub(crate) schedules: Vec<OutageSchedule>,
    pub(crate) has_more: bool,
}

/// What becomes of the instants of an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutageCounts {
    pub(crate) on_time: i64,
    pub(crate) late: i64,
    pub(crate) collapsed: i64,
    pub(crate) missed: i64,
    pub(crate) skipped: i64,
}

/// The effect of one policy on all schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutageTotal {
    pub(crate) catch_up: CatchUp,
    pub(crate) counts: OutageCounts,
}

/// The effect on one schedule.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutageSchedule {
    pub(crate) schedule: OutageName,
    pub(crate) expected: i64,
    pub(crate) suppressed: i64,
    /// Whether it is paused for all of the outage.
    pub(crate) is_paused: bool,
    pub(crate) is_complete: bool,
    pub(crate) policies: Vec<OutagePolicy>,
    /// What the ledger holds, unless the outage is still to come.
    pub(crate) ledger: Option<OutageLedger>,
}

/// A schedule in the list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct OutageName {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// The effect of one policy on a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutagePolicy {
    pub(crate) catch_up: CatchUp,
    /// Whether the schedule has this policy.
    pub(crate) is_own: bool,
    pub(crate) counts: OutageCounts,
}

/// What the ledger holds for the time of an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutageLedger {
    pub(crate) started: i64,
    pub(crate) collapsed: i64,
    pub(crate) missed: i64,
    pub(crate) skipped: i64,
    pub(crate) pending: i64,
    pub(crate) is_complete: bool,
}

/// The instants of one schedule under each policy.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct OutageFires {
    pub(crate) schedule: OutageZone,
    pub(crate) policies: Vec<PolicyFires>,
}

/// The schedule whose instants are listed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct OutageZone {
    pub(crate) name: String,
    pub(crate) timing: OutageTiming,
}

/// The timing of that schedule.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct OutageTiming {
    pub(crate) zone: String,
}

/// The instants of a schedule under one policy.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyFires {
    pub(crate) catch_up: CatchUp,
    pub(crate) is_own: bool,
    /// How many rows there are, of which `instants` are the first.
    pub(crate) instant_count: i64,
    pub(crate) instants: Vec<OutageFire>,
}

/// An instant, or a range of instants with the same outcome.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutageFire {
    pub(crate) scheduled_at: Moment,
    pub(crate) last_scheduled_at: Moment,
    pub(crate) count: i64,
    pub(crate) starts_at: Option<Moment>,
    /// Whether it waits for the run before it.
    pub(crate) waits: bool,
    pub(crate) is_late: bool,
    pub(crate) kind: FireKind,
    pub(crate) verdict: Verdict,
    pub(crate) reason: ReasonCode,
}

/// The counts above zero, with their words.
fn listed(counts: &[(i64, &str)]) -> String {
    let parts = counts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<_> =
        parts.map(|(count, words)| format!("{} {words}", grouped(*count))).collect();
    if parts.is_empty() { "–".to_owned() } else { parts.join(", ") }
}

impl OutageCounts {
    /// The counts in words: `1 late, 2 collapsed`.
    pub(crate) fn words(&self) -> String {
        listed(&[
            (self.on_time, "on time"),
            (self.late, "late"),
            (self.collapsed, "collapsed"),
            (self.missed, "missed"),
            (self.skipped, "skipped"),
        ])
    }
}

impl OutageLedger {
    /// The counts in words.
    pub(crate) fn words(&self) -> String {
        let counted = listed(&[
            (self.started, "started"),
            (self.collapsed, "collapsed"),
            (self.missed, "missed"),
            (self.skipped, "skipped"),
            (self.pending, "pending"),
        ]);
        if self.is_complete { counted } else { format!("{counted}, and more") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_said_in_words() {
        let none = OutageCounts { on_time: 0, late: 0, collapsed: 0, missed: 0, skipped: 0 };
        assert_eq!(none.words(), "–");
        assert_eq!(OutageCounts { late: 1, collapsed: 2, ..none }.words(), "1 late, 2 collapsed");
        assert_eq!(OutageCounts { on_time: 1, late: 2, ..none }.words(), "1 on time, 2 late");
        let held = OutageLedger {
            started: 1,
            collapsed: 0,
            missed: 3,
            skipped: 0,
            pending: 0,
            is_complete: false,
        };
        assert_eq!(held.words(), "1 started, 3 missed, and more");
    }
}
