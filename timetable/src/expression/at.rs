use chrono::DateTime;

use crate::error::{Fault, cut};

/// The last second of the year 9999.
pub(crate) const LAST_SECOND: i64 = 253_402_300_799;

const HELP: &str = "write unix seconds (0 to 253402300799) or RFC 3339 with a zone, as in \
                    `@at 2026-11-01T09:00:00Z`";

/// Parses the instant of `@at`, which begins at byte `at`
/// of the expression, into unix milliseconds.
pub(crate) fn parse(text: &str, at: usize) -> Result<i64, Fault> {
    let fault = |problem: String| Err(Fault::new(problem, HELP).at(at..at + text.len()));
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return match text.parse::<i64>() {
            Ok(seconds) if seconds <= LAST_SECOND => Ok(seconds * 1_000),
            Ok(_) | Err(_) => fault("the instant lies after the year 9999".to_owned()),
        };
    }
    let Ok(instant) = DateTime::parse_from_rfc3339(text) else {
        return fault(format!("{:?} is not an instant", cut(text)));
    };
    if instant.timestamp_subsec_nanos() >= 1_000_000_000 {
        return fault("a leap second cannot be scheduled".to_owned());
    }
    if instant.timestamp_subsec_nanos() % 1_000_000 != 0 {
        return fault("the instant is finer than a millisecond".to_owned());
    }
    if !(0..=LAST_SECOND).contains(&instant.timestamp()) {
        return fault("the instant lies before 1970 or after 9999".to_owned());
    }
    Ok(instant.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn an_instant_is_unix_seconds_or_rfc_3339() {
        assert_eq!(parse("0", 0), Ok(0));
        assert_eq!(parse("1647067401", 0), Ok(1_647_067_401_000));
        assert_eq!(parse("2022-03-12T06:43:21Z", 0), Ok(1_647_067_401_000));
        assert_eq!(parse("2022-03-12T07:43:21.250+01:00", 0), Ok(1_647_067_401_250));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "-1",
            "--5",
            "+5",
            "1.5",
            "0x10",
            "1_000",
            "abc",
            "253402300800",
            "9223372036854775808",
            "2022-03-12",
            "2022-03-12T06:43:21",
            "1969-12-31T23:59:59Z",
            "2016-12-31T23:59:60Z",
            "2022-03-12T06:43:21.0001Z",
        ] {
            assert!(parse(text, 0).is_err(), "{text}");
        }
    }
}
