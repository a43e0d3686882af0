use std::time::Duration;

/// The number of seconds that the window covers.
const SECONDS: usize = 60;

/// The executions that ended in the last minute, by the second.
#[derive(Clone, Debug)]
pub(super) struct LastMinute {
    buckets: [SecondBucket; SECONDS],
}

#[derive(Clone, Copy, Debug, Default)]
struct SecondBucket {
    second: u64,
    ended: u64,
    failed: u64,
    took: Duration,
}

/// The totals of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Summary {
    pub(super) per_minute: u64,
    pub(super) average_seconds: f64,
    /// The share of failed executions, between 0 and 1.
    pub(super) failed_share: f64,
}

impl Default for LastMinute {
    fn default() -> Self {
        Self { buckets: [SecondBucket::default(); SECONDS] }
    }
}

impl LastMinute {
    /// Records an execution that ended in `second`, counted from any fixed point.
    pub(super) fn record(&mut self, second: u64, took: Duration, failed: bool) {
        let slot = usize::try_from(second % SECONDS as u64).unwrap_or(0);
        let bucket = &mut self.buckets[slot];
        if bucket.second != second {
            *bucket = SecondBucket { second, ..SecondBucket::default() };
        }
        bucket.ended += 1;
        bucket.failed += u64::from(failed);
        bucket.took += took;
    }

    /// The totals of the minute that ends with `second`.
    pub(super) fn summary(&self, second: u64) -> Summary {
        let recent = self
            .buckets
            .iter()
            .filter(|bucket| bucket.second <= second && second - bucket.second < SECONDS as u64);
        let sum = recent.fold(SecondBucket::default(), |sum, bucket| SecondBucket {
            second,
            ended: sum.ended + bucket.ended,
            failed: sum.failed + bucket.failed,
            took: sum.took + bucket.took,
        });
        let share = |part: f64| if sum.ended == 0 { 0.0 } else { part / sum.ended as f64 };
        Summary {
            per_minute: sum.ended,
            average_seconds: share(sum.took.as_secs_f64()),
            failed_share: share(sum.failed as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_minute_has_no_average() {
        let summary = LastMinute::default().summary(1_000);
        assert_eq!(summary, Summary { per_minute: 0, average_seconds: 0.0, failed_share: 0.0 });
    }

    #[test]
    fn ends_more_than_a_minute_ago_are_forgotten() {
        let mut window = LastMinute::default();
        window.record(100, Duration::from_secs(4), true);
        window.record(130, Duration::from_secs(2), false);
        assert_eq!(window.summary(130).per_minute, 2);
        assert_eq!(window.summary(159).average_seconds, 3.0);
        assert_eq!(window.summary(159).failed_share, 0.5);
        assert_eq!(window.summary(160).per_minute, 1);
        window.record(190, Duration::from_secs(1), false);
        assert_eq!(window.summary(190).per_minute, 1);
    }
}
