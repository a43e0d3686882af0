use std::ops::Range;

use crate::{
    duration::{self, DurationError},
    error::{Fault, cut},
};

/// The longest interval, in seconds: a century.
const LONGEST: i64 = 36_525 * 86_400;

const HELP: &str = "write it as `90s`, `1h30m`, `0.5h` or `1d` (24 hours): whole seconds, from 1s \
                    to 36525d";

/// Parses the interval of `@every`, which begins at byte `at` of the expression:
/// a duration of whole seconds. Returns seconds.
pub(crate) fn parse(text: &str, at: usize) -> Result<i64, Fault> {
    let fault = |part: Range<usize>, problem: &str| {
        Fault::new(problem, HELP).at(at + part.start..at + part.end)
    };
    let whole = |problem: &str| fault(0..text.len(), problem);
    let not_whole = || whole("the interval is not a whole number of seconds");
    let too_long = || whole("the interval is longer than a century");
    let length = duration::parse(text).map_err(|error| match error {
        DurationError::Empty => whole("the interval is missing"),
        DurationError::NoNumber(part) => {
            fault(part, &format!("{:?} is not an interval", cut(text)))
        }
        DurationError::NoUnit(part) => fault(part, "the number has no unit"),
        DurationError::UnknownUnit(part) => {
            let unit = cut(&text[part.clone()]);
            fault(part, &format!("{unit:?} is not a unit"))
        }
        DurationError::TooFine => not_whole(),
        DurationError::TooLong => too_long(),
    })?;
    if length.is_zero() {
        return Err(whole("an interval of zero never ends"));
    }
    if length.subsec_nanos() != 0 {
        return Err(not_whole());
    }
    match i64::try_from(length.as_secs()) {
        Ok(seconds) if seconds <= LONGEST => Ok(seconds),
        Ok(_) | Err(_) => Err(too_long()),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn intervals_are_added_up_in_any_order_of_units() {
        for (text, seconds) in [
            ("1s", 1),
            ("90s", 90),
            ("1h30m10s", 5_410),
            ("30m1h", 5_400),
            ("1.5h", 5_400),
            (".5m", 30),
            ("1d12h", 129_600),
            ("8760h", 31_536_000),
            ("1w", 604_800),
            ("2000ms", 2),
            ("36525d", super::LONGEST),
        ] {
            assert_eq!(parse(text, 0), Ok(seconds), "{text}");
        }
    }

    #[test]
    fn an_interval_that_is_not_whole_seconds_within_a_century_is_refused() {
        for text in [
            "",
            "0",
            "0s",
            "0ms",
            "1",
            "1500ms",
            "1.5s",
            "-1h",
            "+1h",
            "1h-30m",
            "1..5h",
            "1e3s",
            "NaNs",
            "s",
            ".",
            ".s",
            "1H",
            "1y",
            "1h 30m",
            "36526d",
            "99999999999999999999h",
        ] {
            assert!(parse(text, 0).is_err(), "{text}");
        }
    }

    #[test]
    fn the_position_is_that_of_the_wrong_part() {
        let fault = parse("1h30x", 7).expect_err("x is not a unit");
        assert_eq!(fault.position, Some(11..12));
    }
}
