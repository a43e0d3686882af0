//! Durations and distances in words: short, and never more than two units.

/// A duration in words: `830 ms`, `4.2 s`, `2 min 5 s`, `1 h 3 min`, `2 d 4 h`.
pub(crate) fn duration(millis: i64) -> String {
    let millis = millis.max(0);
    let tenths = (millis + 50) / 100;
    if millis < 1_000 {
        format!("{millis} ms")
    } else if tenths < 600 {
        format!("{}.{} s", tenths / 10, tenths % 10)
    } else {
        seconds((millis + 500) / 1_000)
    }
}

/// A whole number of seconds in words, as in settings: `1 min 30 s` for 90.
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

/// The distance of an instant from now: `in 4 min`, `3 s ago`, `now`. `millis` is positive for the future.
pub(crate) fn distance(millis: i64) -> String {
    let far = millis.abs() / 1_000;
    let words = match far {
        0 => return "now".to_owned(),
        1..60 => format!("{far} s"),
        60..3_600 => format!("{} min", far / 60),
        3_600..172_800 => format!("{} h", far / 3_600),
        172_800..63_072_000 => format!("{} d", far / 86_400),
        _ => format!("{} years", far / 31_536_000),
    };
    if millis > 0 { format!("in {words}") } else { format!("{words} ago") }
}

/// A number as users type it: `300`, `0.2`. The JSON serializer formats it, because it is compiled in anyway.
pub(crate) fn decimal(value: f64) -> String {
    let text = serde_json::Value::from(value).to_string();
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// Groups thousands: `86 400`, with a narrow no-break space.
pub(crate) fn grouped(count: i64) -> String {
    let digits = count.to_string();
    let mut grouped = String::with_capacity(digits.len() + 8);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && grouped != "-" {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number of things: `1 run`, `1 234 runs`.
pub(crate) fn amount(count: i64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{} {many}", grouped(count)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_at_most_two_units() {
        let shown = [0, 830, 4_230, 59_960, 125_000, 3_780_000, 187_200_000].map(duration);
        let words = ["0 ms", "830 ms", "4.2 s", "1 min", "2 min 5 s", "1 h 3 min", "2 d 4 h"];
        assert_eq!(shown, words);
    }

    #[test]
    fn a_distance_says_which_side_of_now_it_lies_on() {
        let far = 1_000_000_000_000;
        let shown = [0, -999, 12_000, -200_000, 7_200_000, -864_000_000, far].map(distance);
        let words = ["now", "now", "in 12 s", "3 min ago", "in 2 h", "10 d ago", "in 31 years"];
        assert_eq!(shown, words);
    }

    #[test]
    fn a_whole_number_has_no_fraction() {
        assert_eq!([300.0, 0.2, 1.5].map(decimal), ["300", "0.2", "1.5"]);
    }

    #[test]
    fn one_is_told_from_several() {
        let shown = [0, 1, 2, 1_000].map(|count| amount(count, "run", "runs"));
        assert_eq!(shown, ["0 runs", "1 run", "2 runs", "1\u{202f}000 runs"]);
    }

    #[test]
    fn thousands_stand_apart() {
        let shown = [0, 999, 1_000, 86_400, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1\u{202f}000", "86\u{202f}400", "1\u{202f}234\u{202f}567"]);
    }
}
