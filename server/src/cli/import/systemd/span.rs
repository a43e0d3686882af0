//! Durations in systemd's format: `90`, `5min 20s`, `1h30m`, `2 days`.

/// Parses a duration to milliseconds; `None` if the text is not one. A number without a unit means
/// seconds.
pub(super) fn parse(text: &str) -> Option<i64> {
    let (mut rest, mut total) = (text.trim(), 0_f64);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        let behind = behind.trim_start();
        let end =
            behind.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(behind.len());
        let (unit, after) = behind.split_at(end);
        total += number.parse::<f64>().ok()? * scale(unit)?;
        rest = after.trim_start();
    }
    // The bound is far beyond any duration used here, and well within the exact range of a float.
    (total <= 1e15).then_some(total.round() as i64)
}

/// The number of milliseconds in a unit.
fn scale(unit: &str) -> Option<f64> {
    const SECOND: f64 = 1_000.0;
    Some(match unit {
        "usec" | "us" | "µs" => 0.001,
        "msec" | "ms" => 1.0,
        "" | "seconds" | "second" | "sec" | "s" => SECOND,
        "minutes" | "minute" | "min" | "m" => 60.0 * SECOND,
        "hours" | "hour" | "hr" | "h" => 3_600.0 * SECOND,
        "days" | "day" | "d" => 86_400.0 * SECOND,
        "weeks" | "week" | "w" => 604_800.0 * SECOND,
        "months" | "month" | "M" => 2_629_800.0 * SECOND,
        "years" | "year" | "y" => 31_557_600.0 * SECOND,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_systemd_reads_them() {
        for (text, ms) in [
            ("90", 90_000),
            ("5min 20s", 320_000),
            ("1h30m", 5_400_000),
            ("2 days", 172_800_000),
            ("1.5h", 5_400_000),
            ("500ms", 500),
            ("1w", 604_800_000),
        ] {
            assert_eq!(parse(text), Some(ms), "{text}");
        }
        for text in ["", "x", "5 parsecs", "infinity", "1..5s", "-1"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
