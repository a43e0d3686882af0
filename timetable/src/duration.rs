//! The notation of durations in `@every`, settings, module files, the command line and searches:
//! numbers with units, such as `500ms`, `1h30m`, `0.5h` or `2w`.
//!
//! Units may come in any order, and the parts are added up.
//! Callers add limits of their own, such as whole seconds or no more than a century.

use std::{fmt, ops::Range, time::Duration};

/// Decimals are counted in billionths, so that they stay exact.
const BILLION: u128 = 1_000_000_000;
const NANOS_PER_SECOND: u128 = 1_000_000_000;
const NANOS_PER_MILLI: u128 = 1_000_000;

/// The units in milliseconds, the largest first.
const UNITS: [(&str, u64); 6] = [
    ("w", 7 * 24 * 60 * 60 * 1_000),
    ("d", 24 * 60 * 60 * 1_000),
    ("h", 60 * 60 * 1_000),
    ("m", 60 * 1_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Why a text is not a duration. Ranges are in bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DurationError {
    /// The text is empty.
    Empty,
    /// The part at this range does not begin with a number, or the number has too many digits.
    NoNumber(Range<usize>),
    /// The number at this range has no unit.
    NoUnit(Range<usize>),
    /// The text at this range is not a unit.
    UnknownUnit(Range<usize>),
    /// The duration is not a whole number of nanoseconds.
    TooFine,
    /// The duration has more seconds than 64 bits can hold.
    TooLong,
}

/// Parses a duration.
///
/// # Errors
///
/// Names the part of the text that is wrong.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    let bytes = text.as_bytes();
    let mut total = 0_u128;
    let mut next = 0;
    while next < bytes.len() {
        let start = next;
        let end_of = |from: usize, wanted: fn(&u8) -> bool| {
            from + bytes[from..].iter().take_while(|b| wanted(b)).count()
        };
        let number = end_of(start, |b| b.is_ascii_digit() || *b == b'.');
        let unit = end_of(number, u8::is_ascii_alphabetic);
        let Some(billionths) = decimal(&text[start..number]) else {
            let stop = unit.max(start + 1).min(bytes.len());
            return Err(DurationError::NoNumber(start..stop));
        };
        if unit == number {
            return Err(DurationError::NoUnit(start..number));
        }
        let named = UNITS.iter().find(|(name, _)| *name == &text[number..unit]);
        let Some((_, millis)) = named else {
            return Err(DurationError::UnknownUnit(number..unit));
        };
        // A product that saturates is far beyond the longest duration.
        let scaled = billionths.saturating_mul(u128::from(*millis) * NANOS_PER_MILLI);
        if !scaled.is_multiple_of(BILLION) {
            return Err(if scaled == u128::MAX {
                DurationError::TooLong
            } else {
                DurationError::TooFine
            });
        }
        total = total.saturating_add(scaled / BILLION);
        next = unit;
    }
    if text.is_empty() {
        return Err(DurationError::Empty);
    }
    let seconds = u64::try_from(total / NANOS_PER_SECOND).map_err(|_| DurationError::TooLong)?;
    let nanos = u32::try_from(total % NANOS_PER_SECOND).map_err(|_| DurationError::TooLong)?;
    Ok(Duration::new(seconds, nanos))
}

/// Parses a duration of whole milliseconds; `None` if their number does not fit in 64 bits.
pub fn millis(text: &str) -> Option<u64> {
    let nanos = parse(text).ok()?.as_nanos();
    let is_whole = nanos.is_multiple_of(NANOS_PER_MILLI);
    u64::try_from(nanos / NANOS_PER_MILLI).ok().filter(|_| is_whole)
}

/// Writes a number of milliseconds as [`parse`] reads it: `1d12h`, `0s`.
/// Weeks are read but not written, because people count in days.
///
/// # Errors
///
/// Fails if the formatter does.
pub fn write(millis: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if millis == 0 {
        return f.write_str("0s");
    }
    let mut left = millis;
    for (unit, scale) in UNITS.iter().skip(1) {
        if left >= *scale {
            write!(f, "{}{unit}", left / scale)?;
            left %= scale;
        }
    }
    Ok(())
}

/// Parses `1`, `1.5`, `.5` or `1.` into billionths;
/// at most 20 digits before the point and nine after it.
fn decimal(text: &str) -> Option<u128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.len() > 20 || fraction.len() > 9 {
        return None;
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u128>().ok() };
    let scale = 10_u128.checked_pow(9 - u32::try_from(fraction.len()).ok()?)?;
    Some(number(whole)? * BILLION + number(fraction)? * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Displays a number of milliseconds as `write` does.
    struct Written(u64);

    impl fmt::Display for Written {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write(self.0, f)
        }
    }

    #[test]
    fn the_parts_of_a_duration_are_added_up() {
        for (text, expected) in [
            ("0s", 0),
            ("500ms", 500),
            ("90s", 90_000),
            ("1h30m", 5_400_000),
            ("30m1h", 5_400_000),
            ("1s1s", 2_000),
            ("0.5h", 1_800_000),
            (".5m", 30_000),
            ("1.s", 1_000),
            ("2w", 1_209_600_000),
            ("1d2h3m4s5ms", 93_784_005),
            ("18446744073709551615ms", u64::MAX),
        ] {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_read_is_written_in_the_same_notation() {
        for (text, expected) in [
            ("0ms", "0s"),
            ("90s", "1m30s"),
            ("1w36h61s", "8d12h1m1s"),
            ("0.5h", "30m"),
            ("1500ms", "1s500ms"),
        ] {
            let written = Written(millis(text).unwrap()).to_string();
            assert_eq!(written, expected);
            assert_eq!(millis(&written), millis(text));
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_part_that_is_wrong() {
        use DurationError::{Empty, NoNumber, NoUnit, TooFine, TooLong, UnknownUnit};
        for (text, expected) in [
            ("", Empty),
            ("s", NoNumber(0..1)),
            ("-5s", NoNumber(0..1)),
            ("1h é", NoNumber(2..3)),
            ("1..5h", NoNumber(0..5)),
            ("5", NoUnit(0..1)),
            ("5s7", NoUnit(2..3)),
            ("5 s", NoUnit(0..1)),
            ("1h30x", UnknownUnit(4..5)),
            ("1H", UnknownUnit(1..2)),
            ("1us", UnknownUnit(1..3)),
            ("0.000000001ms", TooFine),
            ("99999999999999999999w", TooLong),
            ("99999999999999999999s", TooLong),
        ] {
            assert_eq!(parse(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn a_part_of_a_millisecond_is_none_of_its_whole_ones() {
        assert_eq!(parse("0.5ms"), Ok(Duration::from_micros(500)));
        assert_eq!(millis("0.5ms"), None);
        assert_eq!(millis("0.5ms0.5ms"), Some(1));
        assert_eq!(millis("18446744073709551616ms"), None);
    }
}
