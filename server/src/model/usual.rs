/// A percentile of sorted values; `None` if there are none.
pub fn percentile(sorted: &[i64], percent: usize) -> Option<i64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

/// How long the runs of a schedule usually take: the durations of the successful ones, in
/// milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsualDuration {
    /// Sorted in ascending order.
    durations: Vec<i64>,
}

impl UsualDuration {
    /// Fewer runs than this do not show a usual duration.
    pub const MIN_RUNS: usize = 5;

    /// The usual durations from durations in any order; `None` for fewer than
    /// [`UsualDuration::MIN_RUNS`].
    pub fn of(mut durations: Vec<i64>) -> Option<Self> {
        durations.sort_unstable();
        (durations.len() >= Self::MIN_RUNS).then_some(Self { durations })
    }

    /// The duration that half of the runs did not exceed.
    pub fn median_ms(&self) -> i64 {
        percentile(&self.durations, 50).unwrap_or_default()
    }

    /// The duration that 95 % of the runs did not exceed.
    pub fn p95_ms(&self) -> i64 {
        percentile(&self.durations, 95).unwrap_or_default()
    }

    /// The time that a run has taken, as a multiple of its usual duration. A usual duration below a
    /// millisecond counts as one millisecond.
    pub fn ratio(&self, elapsed_ms: i64) -> f64 {
        elapsed_ms.max(0) as f64 / self.median_ms().max(1) as f64
    }

    /// The likely duration of a run that has taken `elapsed_ms` and is still in progress: the
    /// median of the runs that took longer; `None` if none did.
    pub fn likely_ms(&self, elapsed_ms: i64) -> Option<i64> {
        let shorter = self.durations.partition_point(|duration| *duration <= elapsed_ms);
        percentile(self.durations.get(shorter..)?, 50)
    }

    /// Whether a run that has taken `elapsed_ms` will probably continue for `more_ms`. A run that
    /// has taken longer than any before it is expected to take as long again.
    pub fn outlasts(&self, elapsed_ms: i64, more_ms: i64) -> bool {
        let likely = self.likely_ms(elapsed_ms).unwrap_or(elapsed_ms.saturating_mul(2));
        likely >= elapsed_ms.saturating_add(more_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_of_a_hundred_do_not_exceed_a_percentile() {
        let sorted: Vec<i64> = (1..=10).collect();
        let of = |percent| percentile(&sorted, percent).unwrap();
        assert_eq!([50, 95, 99, 100].map(of), [5, 10, 10, 10]);
        assert_eq!(percentile(&[7], 50), Some(7));
        assert_eq!(percentile(&[], 95), None);
    }

    #[test]
    fn a_run_is_measured_against_those_that_succeeded() {
        assert_eq!(UsualDuration::of(vec![1, 2, 3, 4]), None);
        let usual = UsualDuration::of(vec![60, 20, 10, 30, 40]).unwrap();
        assert_eq!((usual.median_ms(), usual.p95_ms()), (30, 60));
        assert!((usual.ratio(75) - 2.5).abs() < f64::EPSILON);
        assert!(UsualDuration::of(vec![0; 5]).unwrap().ratio(7) > 6.9);
    }

    #[test]
    fn a_live_run_is_expected_to_end_like_longer_runs() {
        let usual = UsualDuration::of(vec![10, 20, 30, 40, 60]).unwrap();
        assert_eq!(usual.likely_ms(0), Some(30));
        assert_eq!(usual.likely_ms(30), Some(40));
        assert_eq!(usual.likely_ms(60), None);
        assert!(usual.outlasts(5, 25) && !usual.outlasts(5, 26));
        // Longer than all others: expected to take as long again.
        assert!(usual.outlasts(100, 100) && !usual.outlasts(100, 101));
        assert!(usual.outlasts(i64::MAX, 0));
    }
}
