use crate::error::{Fault, cut};

/// The longest interval, in seconds: a century.
const LONGEST: i64 = 36_525 * 86_400;

const HELP: &str = "write it as `90s`, `1h30m`, `0.5h` or `1d` (24 hours): whole seconds, from 1s \
                    to 36525d";

/// Parses the interval of `@every`, which begins at byte `at`: Go's notation with the units h, m, s
/// and d, in any order, each a whole number or a decimal. Returns seconds.
pub(crate) fn parse(text: &str, at: usize) -> Result<i64, Fault> {
    let fault = |from: usize, to: usize, problem: String| {
        Err(Fault::new(problem, HELP).at(at + from..at + to))
    };
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
        let Some(nanos) = decimal(&text[start..number]) else {
            let stop = unit.max(start + 1).min(bytes.len());
            return fault(start, stop, format!("{:?} is not an interval", cut(text)));
        };
        let seconds: u128 = match &text[number..unit] {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            "" => return fault(start, number, "the number has no unit".to_owned()),
            "ms" | "us" | "ns" => {
                return fault(number, unit, "intervals are whole seconds".to_owned());
            }
            other => return fault(number, unit, format!("{:?} is not a unit", cut(other))),
        };
        total = total.saturating_add(nanos.saturating_mul(seconds));
        next = unit;
    }
    let whole = |problem: &str| fault(0, text.len(), problem.to_owned());
    if text.is_empty() {
        return whole("the interval is missing");
    }
    if total == 0 {
        return whole("an interval of zero never ends");
    }
    if !total.is_multiple_of(NANOS) {
        return whole("the interval is not a whole number of seconds");
    }
    match i64::try_from(total / NANOS) {
        Ok(seconds) if seconds <= LONGEST => Ok(seconds),
        Ok(_) | Err(_) => whole("the interval is longer than a century"),
    }
}

const NANOS: u128 = 1_000_000_000;

/// Parses `1`, `1.5`, `.5` or `1.` into billionths; at most nine digits on either side of the
/// point.
fn decimal(text: &str) -> Option<u128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.len() <= 12 && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u128>().ok() };
    let scale = 10_u128.checked_pow(9 - u32::try_from(fraction.len()).ok()?)?;
    Some(number(whole)? * NANOS + number(fraction)? * scale)
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
            "1w",
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
        let fault = parse("1h30x", 7).expect_err("x is no unit");
        assert_eq!(fault.position, Some(11..12));
    }
}
