//! The runs and waiting fires that the deletion of a schedule affects.

use serde::Deserialize;

use crate::time::{amount, grouped};

/// The number at which the server stops counting.
const MAX_TOTAL: i64 = 10_000;

/// The runs and waiting fires of a schedule.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct ScheduleImpact {
    /// The waiting fires; absent if the schedule is already deleted.
    schedule: Option<Waiting>,
    runs: Counted,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Waiting {
    live_runs: i64,
    buffer_size: i64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    total_count: i64,
}

impl ScheduleImpact {
    /// Sentences about the runs and fires after a deletion.
    pub(crate) fn words(&self) -> String {
        let waiting = self.schedule.as_ref();
        let live = match waiting.map_or(0, |waiting| waiting.live_runs) {
            0 => "No run is live".to_owned(),
            1 => "1 live run continues to its end".to_owned(),
            live => format!("{} live runs continue to their end", grouped(live)),
        };
        let fires = match waiting.map_or(0, |waiting| waiting.buffer_size) {
            0 => String::new(),
            1 => ", and 1 waiting fire is skipped".to_owned(),
            fires => format!(", and {} waiting fires are skipped", grouped(fires)),
        };
        let kept = match self.runs.total_count {
            MAX_TOTAL.. => format!("{} or more runs", grouped(MAX_TOTAL)),
            runs => amount(runs, "run", "runs"),
        };
        format!("{live}{fires}. The ledger and {kept} are kept until retention removes them.")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_becomes_of_runs_and_waiting_fires_is_said() {
        let said = |live: i64, waiting: i64, runs: i64| {
            let answer = json!({
                "schedule": { "liveRuns": live, "bufferSize": waiting },
                "runs": { "totalCount": runs },
            });
            serde_json::from_value::<ScheduleImpact>(answer).unwrap().words()
        };
        let kept = "are kept until retention removes them.";
        assert_eq!(said(0, 0, 0), format!("No run is live. The ledger and 0 runs {kept}"));
        assert_eq!(
            said(1, 1, 1),
            format!(
                "1 live run continues to its end, and 1 waiting fire is skipped. \
                 The ledger and 1 run {kept}"
            )
        );
        assert_eq!(
            said(2, 3, 10_000),
            format!(
                "2 live runs continue to their end, and 3 waiting fires are skipped. \
                 The ledger and 10\u{202f}000 or more runs {kept}"
            )
        );
    }
}
