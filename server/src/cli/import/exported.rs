//! Helpers for importers of JSON.

use serde_json::Value;

use super::plain::quoted;
use crate::{
    commands::modules::file::{ScheduleEntry, TaskEntry},
    model::Task,
    target::{CommandTarget, Target},
};

/// The longest timeout in milliseconds.
pub(super) const LONGEST_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// Maximum number of attempts of a task.
const MAX_ATTEMPTS: i64 = 100;

/// The text under a key, if it is present and not empty.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Whether a key is true: as a Boolean, a number or a text.
pub(super) fn is_on(value: &Value, key: &str) -> bool {
    match value.get(key) {
        Some(Value::Bool(on)) => *on,
        Some(Value::Number(number)) => number.as_f64().is_some_and(|number| number != 0.0),
        Some(Value::String(text)) => matches!(text.as_str(), "1" | "true" | "yes"),
        Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => false,
    }
}

/// A whole number, also as a text; None if it is missing.
pub(super) fn number(value: &Value, key: &str) -> Option<i64> {
    match value.get(key)? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The items of a response, which is a list, contains a list under one of these keys, or is a
/// single item.
pub(super) fn items<'a>(value: &'a Value, keys: &[&str]) -> Vec<&'a Value> {
    let list = value.as_array().or_else(|| keys.iter().find_map(|key| value.get(key)?.as_array()));
    list.map_or_else(|| vec![value], |list| list.iter().collect())
}

/// Sets the schedule's only task, with `again` retries, and with the longest possible timeout if
/// none is given.
pub(super) fn task(
    schedule: &mut ScheduleEntry,
    target: Target,
    again: i64,
    timeout_seconds: Option<i64>,
    changes: &mut Vec<String>,
) {
    let mut task = Task::new("main", target);
    let attempts = again.max(0).saturating_add(1);
    if attempts > MAX_ATTEMPTS {
        changes.push(format!("{again} further attempts: a task has at most {MAX_ATTEMPTS} in all"));
    }
    // The value is within the limit, so the conversion cannot fail.
    task.retry.max_attempts = i32::try_from(attempts.min(MAX_ATTEMPTS)).unwrap_or(1);
    let limit = timeout_seconds.filter(|seconds| *seconds > 0);
    task.timeout_ms = limit.map_or(LONGEST_MS, |s| s.saturating_mul(1_000).clamp(1, LONGEST_MS));
    schedule.task = Some(TaskEntry::of(&task));
}

/// A script with a single command of these words. Scripts are no templates, so nothing is escaped
/// for them.
pub(super) fn script(words: &[&str]) -> CommandTarget {
    let is_bare = |word: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
        !word.is_empty() && word.bytes().all(is_plain)
    };
    let shown = |word: &&str| if is_bare(word) { (*word).to_owned() } else { quoted(word) };
    let words: Vec<String> = words.iter().map(shown).collect();
    CommandTarget { script: Some(words.join(" ")), ..CommandTarget::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_program_as_they_are() {
        let made = script(&["aws", "--message", "{{x}} {%y%} it's ${#z}"]);
        let expected = r"aws --message '{{x}} {%y%} it'\''s ${#z}'";
        assert_eq!(made.script.as_deref(), Some(expected));
    }
}
