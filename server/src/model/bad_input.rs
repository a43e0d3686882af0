//! A value that cannot be accepted, and what to do about it.

use std::ops::Range;

use super::naming;
use crate::target::TargetError;

/// How many characters of a refused value an error repeats.
const ECHO: usize = 64;

/// A value that cannot be accepted: which one, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}{}: {problem}; {help}", quoted(value))]
pub struct BadInput {
    /// Path of the field in the input: `timing.expressions[0]`.
    pub field: String,
    /// The value, cut to 64 characters.
    pub value: String,
    /// What is wrong with the value.
    pub problem: String,
    /// What would be valid.
    pub help: String,
    /// The position of the mistake in the value, in bytes, if it is in one place.
    pub position: Option<Range<usize>>,
}

impl BadInput {
    /// The error that `field` has the value `value` with this `problem`; `help` describes a valid
    /// value.
    pub fn new(
        field: impl Into<String>,
        value: impl ToString,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            value: cut(&value.to_string()),
            problem: problem.into(),
            help: help.into(),
            position: None,
        }
    }

    /// Moves the error to a field inside `parent`: prefixes the field's name.
    pub(crate) fn inside(mut self, parent: &str) -> Self {
        self.field = format!("{parent}.{}", self.field);
        self
    }

    /// Converts an error of the executor about the target of the task `field`.
    pub(crate) fn target(field: &str, error: TargetError) -> Self {
        match error {
            TargetError::Invalid { field: inner, problem, help } => {
                // The executor does not repeat values, because some of them are secrets.
                let inner = naming::in_api(&inner);
                Self::new(format!("{field}.target.{inner}"), "", problem, help)
            }
            other @ TargetError::Setup { .. } => Self::new(
                format!("{field}.target"),
                "",
                other.to_string(),
                "fix the server's configuration, or use another target",
            ),
        }
    }

    /// Converts an error of the `timetable` crate about a schedule's calendars.
    pub(crate) fn of_calendars(error: timetable::TimingError) -> Self {
        Self { field: error.field.clone(), ..Self::timing(error) }
    }

    /// Converts an error of the `timetable` crate about a timing.
    pub(crate) fn timing(error: timetable::TimingError) -> Self {
        Self {
            field: format!("timing.{}", api_name(&error.field)),
            value: cut(&error.value),
            problem: error.problem,
            help: error.help,
            position: error.position,
        }
    }
}

/// The calculator's field names as the API spells them.
fn api_name(field: &str) -> &str {
    match field {
        "start" => "startAt",
        "end" => "endAt",
        "jitter" => "jitterSeconds",
        other => other,
    }
}

/// The value for an error message; empty if there is none or if it must not be shown.
fn quoted(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" {value:?}") }
}

/// At most 64 characters, with a mark where the rest was cut.
pub(crate) fn cut(value: &str) -> String {
    shortened(value, ECHO)
}

/// At most `max` characters, with a mark where the rest was cut.
pub(crate) fn shortened(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_repeated_in_part() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"é".repeat(64)).chars().count(), 64);
        let long = cut(&"é".repeat(65));
        assert_eq!(long.chars().count(), 64);
        assert!(long.ends_with('…'));
    }
}
