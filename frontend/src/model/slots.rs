//! The outcomes of the instants at which a schedule was due.

use serde::Deserialize;

use super::Percentiles;
use crate::time::{duration, seconds};

/// The instants of a range by outcome, and an interval that is long enough for the runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SlotAccount {
    pub(crate) expected: i64,
    pub(crate) ran: i64,
    pub(crate) skipped: i64,
    /// The number of skipped instants that were blocked by a run.
    pub(crate) overlapped: i64,
    pub(crate) missed: i64,
    pub(crate) open: i64,
    pub(crate) waits: Option<Percentiles>,
    pub(crate) durations: Option<Percentiles>,
    /// The average time between two instants.
    pub(crate) interval_seconds: Option<i64>,
    /// An interval with which runs would not block each other; only set if they do.
    pub(crate) suggested_interval_seconds: Option<i64>,
}

impl SlotAccount {
    /// How long runs wait and how long they take: `A run waits 12 min and takes 31 min`.
    pub(crate) fn pace(&self) -> Option<String> {
        let (wait, run) = (self.waits?.p50, self.durations?.p50);
        let takes = format!("takes {}", duration(run));
        Some(match wait {
            0..1_000 => format!("A run {takes}"),
            _ => format!("A run waits {} and {takes}", duration(wait)),
        })
    }

    /// A suggestion for a schedule whose runs block each other.
    pub(crate) fn advice(&self) -> Option<String> {
        let (now, better) = (self.interval_seconds?, self.suggested_interval_seconds?);
        let (now, better) = (seconds(now), seconds(better));
        Some(format!("It is due every {now}; runs would fit in an interval of {better}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_described_in_words() {
        let of = |p50| Some(Percentiles { p50, p95: p50, p99: p50 });
        let account = SlotAccount {
            expected: 144,
            ran: 48,
            skipped: 96,
            overlapped: 96,
            missed: 0,
            open: 0,
            waits: of(720_000),
            durations: of(1_860_000),
            interval_seconds: Some(600),
            suggested_interval_seconds: Some(2_700),
        };
        assert_eq!(account.pace().unwrap(), "A run waits 12 min and takes 31 min");
        let advice = "It is due every 10 min; runs would fit in an interval of 45 min";
        assert_eq!(account.advice().unwrap(), advice);
        let prompt = SlotAccount { waits: of(20), suggested_interval_seconds: None, ..account };
        assert_eq!(
            (prompt.pace().unwrap().as_str(), prompt.advice()),
            ("A run takes 31 min", None)
        );
    }
}
