//! Which failures are worth another attempt.

use std::{borrow::Cow, fmt, ops::RangeInclusive, str::FromStr};

use entity::task_run;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

/// A kind of failure. As text: `timeout`, `failure`, `error`, `exit 75`, `exit 70-79`,
/// `status 503`, `status 500-599`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The attempt took too long.
    Timeout,
    /// The attempt failed in any other way.
    Failure,
    /// The attempt failed without an exit code or a status, because it could not be started or
    /// reached, or was killed.
    Error,
    /// The program exited with one of these codes.
    Exit(RangeInclusive<u16>),
    /// The response had one of these statuses.
    Status(RangeInclusive<u16>),
}

/// The error for a text that is not a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a condition; write {HELP}")]
pub struct NoCondition(String);

/// The valid conditions.
const HELP: &str =
    "timeout, failure, error, or a code or range such as \"exit 75\" or \"status 500-599\"";

impl Condition {
    /// Whether an attempt that ended in `state` with `output` failed in this way.
    pub(crate) fn matches(&self, state: task_run::State, output: Option<&Value>) -> bool {
        let number = |key: &str| {
            let value = output.and_then(|output| output.get(key)).and_then(Value::as_u64);
            value.and_then(|value| u16::try_from(value).ok())
        };
        let timed_out = state == task_run::State::TimedOut;
        let (exit, status) = (number("exit_code"), number("status"));
        match self {
            Self::Timeout => timed_out,
            Self::Failure => !timed_out,
            Self::Error => !timed_out && exit.is_none() && status.is_none(),
            Self::Exit(codes) => !timed_out && exit.is_some_and(|code| codes.contains(&code)),
            Self::Status(codes) => !timed_out && status.is_some_and(|code| codes.contains(&code)),
        }
    }

    /// The only kind of target that can fail in this way, if there is just one.
    pub(super) fn needs_target(&self) -> Option<&'static str> {
        match self {
            Self::Timeout | Self::Failure | Self::Error => None,
            Self::Exit(_) => Some("command"),
            Self::Status(_) => Some("http"),
        }
    }
}

impl FromStr for Condition {
    type Err = NoCondition;

    fn from_str(text: &str) -> Result<Self, NoCondition> {
        let no = || NoCondition(text.chars().take(64).collect());
        let codes = |codes: &str, bounds: RangeInclusive<u16>| {
            let (first, last) = codes.split_once('-').unwrap_or((codes, codes));
            let range = first.trim().parse().ok().zip(last.trim().parse().ok());
            let fits = |(first, last): &(u16, u16)| {
                first <= last && bounds.contains(first) && bounds.contains(last)
            };
            range.filter(fits).map(|(first, last)| first..=last).ok_or_else(no)
        };
        match text.trim().split_once(' ') {
            None if text.trim() == "timeout" => Ok(Self::Timeout),
            None if text.trim() == "failure" => Ok(Self::Failure),
            None if text.trim() == "error" => Ok(Self::Error),
            Some(("exit", given)) => Ok(Self::Exit(codes(given, 1..=255)?)),
            Some(("status", given)) => Ok(Self::Status(codes(given, 100..=599)?)),
            None | Some(_) => Err(no()),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, codes) = match self {
            Self::Timeout => return f.write_str("timeout"),
            Self::Failure => return f.write_str("failure"),
            Self::Error => return f.write_str("error"),
            Self::Exit(codes) => ("exit", codes),
            Self::Status(codes) => ("status", codes),
        };
        if codes.start() == codes.end() {
            write!(f, "{word} {}", codes.start())
        } else {
            write!(f, "{word} {}-{}", codes.start(), codes.end())
        }
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Condition {
    fn schema_name() -> Cow<'static, str> {
        "Condition".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = "^ *(timeout|failure|error|(exit|status) +[0-9]{1,3} *(- *[0-9]{1,3})?) *$";
        json_schema!({
            "type": "string",
            "description": "A kind of failure: timeout, failure, error, or a code or range such as \"exit 75\" or \"status 500-599\".",
            "pattern": pattern,
        })
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use task_run::State::{Failed, TimedOut};

    use super::*;

    #[test]
    fn a_condition_is_read_and_written_the_same() {
        for text in
            ["timeout", "failure", "error", "exit 75", "exit 70-79", "status 503", "status 500-599"]
        {
            assert_eq!(text.parse::<Condition>().unwrap().to_string(), text);
        }
        assert_eq!(" exit 3 - 4 ".parse::<Condition>().unwrap().to_string(), "exit 3-4");
    }

    #[test]
    fn an_invalid_condition_is_refused_with_the_valid_ones() {
        for text in [
            "",
            "sometimes",
            "exit",
            "exit 0",
            "exit 256",
            "status 99",
            "status 5xx",
            "status 599-500",
            "exit -1",
            "timeout 3",
        ] {
            let told = text.parse::<Condition>().unwrap_err().to_string();
            assert!(told.contains("is not a condition; write timeout"), "{told}");
        }
    }

    #[test]
    fn a_failure_meets_the_conditions_that_name_it() {
        let exit = json!({ "exit_code": 75 });
        let status = json!({ "status": 503 });
        let killed = json!({ "exit_code": null, "signal": "SIGKILL" });
        for (text, state, output, expected) in [
            ("timeout", TimedOut, &exit, true),
            ("timeout", Failed, &exit, false),
            ("failure", TimedOut, &exit, false),
            ("failure", Failed, &status, true),
            ("error", Failed, &killed, true),
            ("error", Failed, &exit, false),
            ("error", Failed, &status, false),
            ("exit 70-79", Failed, &exit, true),
            ("exit 76", Failed, &exit, false),
            ("exit 75", TimedOut, &exit, false),
            ("status 500-599", Failed, &status, true),
            ("status 500-599", Failed, &exit, false),
        ] {
            let condition: Condition = text.parse().unwrap();
            assert_eq!(condition.matches(state, Some(output)), expected, "{text} {output}");
        }
        assert!(Condition::Error.matches(Failed, None));
    }
}
