//! Parses instants in the grammar of the command line.

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};

use super::{ParsedTime, Side};
use crate::config::Span;

/// The meaning of a text; None if it does not match the grammar.
pub(super) fn when(text: &str) -> Option<ParsedTime> {
    let text = text.trim().to_ascii_lowercase();
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    match *words.as_slice() {
        ["now"] => Some(ParsedTime::Now),
        [day] if days(day).is_some() => Some(ParsedTime::Day(days(day)?, NaiveTime::MIN)),
        [day, at] if days(day).is_some() => Some(ParsedTime::Day(days(day)?, time(at)?)),
        ["in", ref span @ ..] => away(span, Some(Side::Future)),
        [ref span @ .., "ago"] => away(span, Some(Side::Past)),
        [word] if word.contains('-') => dated(word),
        [day, at] if day.contains('-') => dated(&format!("{day}t{at}")),
        [word] if word.contains(':') => time(word).map(ParsedTime::Time),
        ref span => away(span, None),
    }
}

fn days(word: &str) -> Option<i64> {
    match word {
        "yesterday" => Some(-1),
        "today" => Some(0),
        "tomorrow" => Some(1),
        _ => None,
    }
}

fn away(words: &[&str], side: Option<Side>) -> Option<ParsedTime> {
    let span: Span = words.concat().parse().ok()?;
    Some(ParsedTime::Away(TimeDelta::from_std(span.0).ok()?, side))
}

/// Parses a date such as `2026-03-29`, optionally followed by `t` and a time, optionally with an
/// offset.
fn dated(word: &str) -> Option<ParsedTime> {
    let Some((day, at)) = word.split_once('t') else {
        return Some(ParsedTime::Local(date(word)?, NaiveTime::MIN));
    };
    if at.contains(['z', '+', '-']) {
        return instant(word).map(ParsedTime::Instant);
    }
    Some(ParsedTime::Local(date(day)?, time(at)?))
}

fn instant(word: &str) -> Option<DateTime<Utc>> {
    let exact = DateTime::parse_from_rfc3339(&word.to_ascii_uppercase());
    // Users often omit the seconds.
    let short = || DateTime::parse_from_str(word, "%Y-%m-%dt%H:%M%#z");
    exact.or_else(|_| short()).ok().map(|at| at.to_utc())
}

fn date(word: &str) -> Option<NaiveDate> {
    let is_whole = word.len() == 10;
    is_whole.then(|| NaiveDate::parse_from_str(word, "%Y-%m-%d").ok()).flatten()
}

/// Parses a time such as `9:05`, `09:05` or `09:05:30`, from 00:00 up to but not including 24:00.
fn time(word: &str) -> Option<NaiveTime> {
    let parts = word.split(':').map(|part| {
        let is_plain = matches!(part.len(), 1 | 2) && part.bytes().all(|b| b.is_ascii_digit());
        is_plain.then(|| part.parse().ok()).flatten()
    });
    let parts: Vec<u32> = parts.collect::<Option<_>>()?;
    match *parts.as_slice() {
        [hour, minute] => NaiveTime::from_hms_opt(hour, minute, 0),
        [hour, minute, second] => NaiveTime::from_hms_opt(hour, minute, second),
        _ => None,
    }
}
