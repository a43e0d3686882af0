use chrono::{DateTime, SecondsFormat};

/// Joins items as `a, b and c`.
pub(crate) fn list(items: &[String], join: &str) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} {join} {last}", first.join(", ")),
    }
}

/// A number with its noun: `1 day`, `2 days`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// An ordinal number: `1st`, `22nd`, `13th`.
pub(crate) fn ordinal(number: u16) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// A duration such as `1 h 30 min`.
pub(crate) fn duration(seconds: i64) -> String {
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3_600 % 24, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n} {unit}")).collect();
    parts.join(" ")
}

/// Formats unix milliseconds as RFC 3339 in UTC.
pub(crate) fn instant(ms: i64) -> String {
    DateTime::from_timestamp_millis(ms)
        .map(|at| at.to_rfc3339_opts(SecondsFormat::AutoSi, true))
        .unwrap_or_default()
}
