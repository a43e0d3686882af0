/// Common intervals, in seconds.
const ROUND: [i64; 26] = [
    1, 2, 5, 10, 15, 20, 30, 60, 120, 180, 300, 600, 900, 1_200, 1_800, 2_700, 3_600, 5_400, 7_200,
    10_800, 14_400, 21_600, 28_800, 43_200, 86_400, 604_800,
];

/// The shortest common interval, in seconds, that is long enough for a run that ends `span_ms`
/// after it was due; `None` if the run takes longer than a week.
pub fn fitting_interval(span_ms: i64) -> Option<i64> {
    ROUND.into_iter().find(|seconds| seconds * 1_000 >= span_ms)
}

#[cfg(test)]
mod tests {
    use super::fitting_interval;

    #[test]
    fn the_next_round_interval_fits() {
        let minutes = |minutes: i64| minutes * 60_000;
        assert_eq!(fitting_interval(minutes(12 + 31)), Some(2_700));
        assert_eq!(fitting_interval(minutes(45)), Some(2_700));
        assert_eq!(fitting_interval(minutes(45) + 1), Some(3_600));
        assert_eq!([fitting_interval(0), fitting_interval(-5)], [Some(1), Some(1)]);
        assert_eq!(fitting_interval(minutes(8 * 24 * 60)), None);
    }
}
