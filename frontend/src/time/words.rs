//! Durations and distances in words: short, and never more than two units.

/// How long something took: `830 ms`, `4.2 s`, `2 min 5 s`, `1 h 3 min`, `2 d 4 h`.
pub(crate) fn duration(millis: f64) -> String {
    let millis = millis.max(0.0);
    if millis < 1_000.0 {
        return format!("{millis:.0} ms");
    }
    // 59.95 s and more would print as `60.0 s`.
    if millis < 59_950.0 {
        return format!("{:.1} s", millis / 1_000.0);
    }
    seconds((millis / 1_000.0).round() as i64)
}

/// A whole number of seconds, as one configures it: `90 s` is `1 min 30 s`.
pub(crate) fn seconds(total: i64) -> String {
    const UNITS: [(i64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    for (index, (size, name)) in UNITS.iter().enumerate() {
        if total < *size {
            continue;
        }
        let rest = UNITS.get(index + 1).map(|(size_below, name)| {
            let count = total % size / size_below;
            if count == 0 { String::new() } else { format!(" {count} {name}") }
        });
        return format!("{} {name}{}", total / size, rest.unwrap_or_default());
    }
    "0 s".to_owned()
}

/// How far an instant lies from now: `in 4 min`, `3 s ago`, `now`. `millis` is positive for the future.
pub(crate) fn distance(millis: f64) -> String {
    let far = (millis.abs() / 1_000.0).floor() as i64;
    let words = match far {
        0 => return "now".to_owned(),
        1..60 => format!("{far} s"),
        60..3_600 => format!("{} min", far / 60),
        3_600..172_800 => format!("{} h", far / 3_600),
        _ if far < 730 * 86_400 => format!("{} d", far / 86_400),
        _ => format!("{} years", far / (365 * 86_400)),
    };
    if millis > 0.0 { format!("in {words}") } else { format!("{words} ago") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_at_most_two_units() {
        let shown = [0.4, 830.0, 4_230.0, 59_960.0, 125_000.0, 3_780_000.0, 187_200_000.0];
        assert_eq!(
            shown.map(duration),
            ["0 ms", "830 ms", "4.2 s", "1 min", "2 min 5 s", "1 h 3 min", "2 d 4 h"]
        );
    }

    #[test]
    fn a_distance_says_which_side_of_now_it_lies_on() {
        let shown = [0.0, -999.0, 12_000.0, -200_000.0, 7_200_000.0, -864_000_000.0, 1e12];
        assert_eq!(
            shown.map(distance),
            ["now", "now", "in 12 s", "3 min ago", "in 2 h", "10 d ago", "in 31 years"]
        );
    }
}
