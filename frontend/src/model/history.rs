//! The recent fires of schedules, which a list loads after its rows.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Deserializer};

use super::{RunState, Verdict, fire::Reason};

/// The recent fires of one schedule.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScheduleHistory {
    id: String,
    pub(crate) tally: Tally,
    /// The fires, newest first.
    pub(crate) recent_fires: Vec<RecentFire>,
}

/// The outcomes of the fires of the last 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(crate) struct Tally {
    pub(crate) succeeded: i64,
    pub(crate) failed: i64,
    pub(crate) running: i64,
    pub(crate) skipped: i64,
    pub(crate) missed: i64,
}

/// A recent fire, with the fields that a bar shows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct RecentFire {
    pub(crate) local: String,
    pub(crate) offset: String,
    pub(crate) verdict: Verdict,
    pub(crate) reason: Reason,
    pub(crate) run: Option<RecentRun>,
}

/// The run of a recent fire.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecentRun {
    pub(crate) state: RunState,
    /// The run's duration; null until it has started and ended.
    pub(crate) duration_ms: Option<i64>,
}

impl ScheduleHistory {
    /// The 95th percentile of the durations of the schedule's recent runs, in milliseconds.
    pub(crate) fn p95(&self) -> Option<i64> {
        let ended = self.recent_fires.iter().filter_map(|fire| fire.run?.duration_ms);
        let mut durations: Vec<i64> = ended.collect();
        durations.sort_unstable();
        let rank = (durations.len() * 95).div_ceil(100);
        durations.get(rank.checked_sub(1)?).copied()
    }
}

/// The histories of several schedules, by their ids.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScheduleHistories(BTreeMap<String, Arc<ScheduleHistory>>);

impl ScheduleHistories {
    pub(crate) fn of(&self, id: &str) -> Option<Arc<ScheduleHistory>> {
        self.0.get(id).cloned()
    }
}

impl<'de> Deserialize<'de> for ScheduleHistories {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The answer contains null for a schedule that was deleted in the meantime.
        let found = Vec::<Option<ScheduleHistory>>::deserialize(deserializer)?;
        let by_id = |history: ScheduleHistory| (history.id.clone(), Arc::new(history));
        Ok(Self(found.into_iter().flatten().map(by_id).collect()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn history(durations: impl IntoIterator<Item = Option<i64>>) -> Value {
        let fire = |duration: Option<i64>| {
            json!({
                "local": "2026-11-21T09:33:30", "offset": "+01:00", "verdict": "STARTED",
                "reason": { "text": "Started when it was due." },
                "run": { "state": "SUCCEEDED", "durationMs": duration },
            })
        };
        let fires: Vec<Value> = durations.into_iter().map(fire).collect();
        let tally = json!({ "succeeded": 1, "failed": 0, "running": 0, "skipped": 0, "missed": 0 });
        json!({ "__typename": "Schedule", "id": "a", "tally": tally, "recentFires": fires })
    }

    fn p95(durations: impl IntoIterator<Item = Option<i64>>) -> Option<i64> {
        serde_json::from_value::<ScheduleHistory>(history(durations)).unwrap().p95()
    }

    #[test]
    fn five_of_a_hundred_runs_took_longer_than_the_percentile() {
        assert_eq!(p95((1..=40).map(Some)), Some(38));
        assert_eq!(p95([Some(7), None]), Some(7));
        assert_eq!(p95([None]), None);
        assert_eq!(p95([]), None);
    }

    #[test]
    fn a_schedule_that_is_gone_has_no_history() {
        let histories = json!([null, history([Some(7)])]);
        let histories: ScheduleHistories = serde_json::from_value(histories).unwrap();
        assert!(histories.of("a").is_some() && histories.of("b").is_none());
    }
}
