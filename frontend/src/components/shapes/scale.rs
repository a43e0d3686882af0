//! Round numbers for the labels of an axis.

/// The smallest round number that is not below a value: 1, 2 or 5 times a power of ten.
pub(super) fn ceiling(value: i64) -> i64 {
    let mut power = 1_i64;
    loop {
        for step in [1, 2, 5] {
            let round = step * power;
            if round >= value {
                return round;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// The smallest round duration, in milliseconds, that is not below a value.
pub(super) fn ceiling_of_time(millis: i64) -> i64 {
    const SECOND: i64 = 1_000;
    const STEPS: [i64; 20] = [
        SECOND,
        2 * SECOND,
        5 * SECOND,
        10 * SECOND,
        20 * SECOND,
        30 * SECOND,
        60 * SECOND,
        120 * SECOND,
        300 * SECOND,
        600 * SECOND,
        1_200 * SECOND,
        1_800 * SECOND,
        3_600 * SECOND,
        7_200 * SECOND,
        14_400 * SECOND,
        21_600 * SECOND,
        43_200 * SECOND,
        86_400 * SECOND,
        172_800 * SECOND,
        604_800 * SECOND,
    ];
    if millis <= SECOND {
        return ceiling(millis).max(10);
    }
    STEPS.into_iter().find(|step| *step >= millis).unwrap_or(millis)
}

/// The position of a value on an axis of `length`, from 0 to `length`.
pub(super) fn share(value: i64, top: i64, length: f64) -> f64 {
    if top <= 0 {
        return 0.0;
    }
    (value as f64 / top as f64).clamp(0.0, 1.0) * length
}

/// A coordinate with at most two decimals, because more would only make the page larger.
pub(super) fn short(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// A coordinate that is not negative, as text with at most two decimals. The code that writes any float would be a
/// large share of a page without other floats.
pub(super) fn coordinate(value: f64) -> String {
    let hundredths = (value * 100.0).round() as i64;
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    match rest {
        0 => whole.to_string(),
        _ if rest % 10 == 0 => format!("{whole}.{}", rest / 10),
        _ => format!("{whole}.{rest:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number() {
        let tops = [0, 1, 3, 7, 11, 49, 501, 86_400].map(ceiling);
        assert_eq!(tops, [1, 1, 5, 10, 20, 50, 1_000, 100_000]);
    }

    #[test]
    fn an_axis_of_time_ends_where_a_clock_has_a_mark() {
        let tops = [0, 40, 999, 1_001, 31_000, 400_000, 90_000_000].map(ceiling_of_time);
        assert_eq!(tops, [10, 50, 1_000, 2_000, 60_000, 600_000, 172_800_000]);
    }

    #[test]
    fn a_share_stays_on_its_axis() {
        assert_eq!(
            [share(5, 10, 100.0), share(20, 10, 100.0), share(1, 0, 100.0)],
            [50.0, 100.0, 0.0]
        );
        assert!((short(33.333_33) - 33.33).abs() < f64::EPSILON);
    }

    #[test]
    fn a_coordinate_is_written_with_the_decimals_that_it_needs() {
        let texts = [0.0, 20.0, 12.25, 7.5, 3.048, 9.999].map(coordinate);
        assert_eq!(texts, ["0", "20", "12.25", "7.5", "3.05", "10"]);
    }
}
