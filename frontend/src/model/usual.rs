//! How a running run compares with earlier ones.

use serde::Deserialize;

use crate::time::{Moment, distance, duration};

/// The server's forecast of a live run, based on the successful runs of its schedule.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunForecast {
    /// The median duration of the schedule's successful runs.
    pub(crate) usual_ms: i64,
    /// The 95th percentile of the durations of the schedule's successful runs.
    pub(crate) p95_ms: i64,
    /// When the run is likely to end; null if it has taken longer than all successful runs.
    pub(crate) likely_end_at: Option<Moment>,
    pub(crate) next_fire_at: Option<Moment>,
    /// Whether the run is likely to be still running at the next fire.
    pub(crate) overlaps_next_fire: bool,
}

impl RunForecast {
    /// Whether the run has taken longer than 95 % of the earlier runs.
    pub(crate) fn is_slow(&self, elapsed: i64) -> bool {
        elapsed > self.p95_ms
    }

    /// A comparison with earlier runs: `usually 10 min`, or `2.3× its usual 10 min`.
    pub(crate) fn comparison(&self, elapsed: i64) -> String {
        let usual = duration(self.usual_ms);
        if self.is_slow(elapsed) {
            let ratio = elapsed as f64 / self.usual_ms.max(1) as f64;
            format!("{ratio:.1}× its usual {usual}")
        } else {
            format!("usually {usual}")
        }
    }

    /// A warning if the run is likely to block the next fire.
    pub(crate) fn warning(&self, now: Moment) -> Option<String> {
        let next = self.next_fire_at.filter(|_| self.overlaps_next_fire)?;
        Some(format!("likely to overlap the next fire {}", distance(next.since(now).max(0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast() -> RunForecast {
        RunForecast {
            usual_ms: 600_000,
            p95_ms: 700_000,
            likely_end_at: None,
            next_fire_at: Some(Moment::from_millis(1_740_000)),
            overlaps_next_fire: true,
        }
    }

    #[test]
    fn a_slow_run_is_marked_with_its_forecast() {
        let slow = forecast();
        assert_eq!(slow.comparison(1_380_000), "2.3× its usual 10 min");
        assert_eq!(slow.comparison(600_000), "usually 10 min");
        let words = slow.warning(Moment::from_millis(1_380_400)).unwrap();
        assert_eq!(words, "likely to overlap the next fire in 5 min");
        let fits = RunForecast { overlaps_next_fire: false, ..slow };
        assert_eq!(fits.warning(Moment::from_millis(0)), None);
    }
}
