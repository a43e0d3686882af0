use std::ops::Range;

use entity::user::Role;
use sea_orm::ActiveEnum;

use crate::{engine::EngineError, model::naming, store::StoreError, target::TargetError};

/// How much of a refused value an error repeats.
const ECHO: usize = 64;

/// Why a command was not carried out. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A value cannot be accepted.
    #[error(transparent)]
    BadInput(#[from] BadInput),
    /// There is no such thing.
    #[error("there is no {what} {which:?}")]
    NotFound {
        /// `schedule`, `run`, ...
        what: &'static str,
        /// The key or name that was asked for.
        which: String,
    },
    /// It is not in the state that the caller took it to be in.
    #[error("{problem}; {help}")]
    Conflict {
        /// What is in the way.
        problem: String,
        /// What to do.
        help: String,
        /// The version that the caller saw and the one that is there.
        versions: Option<(i32, i32)>,
    },
    /// Nobody is signed in.
    #[error("sign in, or send a bearer token")]
    Unauthenticated,
    /// Somebody is, and may not.
    #[error("{}", forbidden(*needs, *has, *everywhere))]
    Forbidden {
        /// The least role that may.
        needs: Role,
        /// The caller's, if they have one there.
        has: Option<Role>,
        /// Whether the role must hold in every namespace.
        everywhere: bool,
    },
    /// Somebody is, and may not, whatever their role.
    #[error("{problem}; {help}")]
    Denied {
        /// What nobody like them may.
        problem: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// A namespace would use more than its quota.
    #[error(
        "the namespace has {used} of {limit} {}, and this asks for {asked} more; {}",
        quota_words(quota),
        QUOTA_HELP
    )]
    Quota {
        /// The quota's name, as the API has it.
        quota: &'static str,
        /// How much it allows.
        limit: i64,
        /// How much of that is used.
        used: i64,
        /// How much more was asked for.
        asked: i64,
    },
    /// They tried too often.
    #[error("too many attempts; wait {0} seconds")]
    TooOften(u64),
    /// A definition in the database is not one.
    #[error("read the definition of {what}: {source}")]
    Unreadable {
        /// What it is of.
        what: String,
        /// What the reader says.
        source: serde_json::Error,
    },
    /// The store could not answer.
    #[error(transparent)]
    Store(StoreError),
    /// The engine could not account for a schedule.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// What to do about a quota.
pub(crate) const QUOTA_HELP: &str = "delete schedules or let them fire less often, or ask an \
    administrator of the instance for a larger quota (carillon namespace quotas)";

fn quota_words(quota: &str) -> &'static str {
    match quota {
        "schedules" => "schedules",
        _ => "fires a minute",
    }
}

impl CommandError {
    /// Why the database cannot serve the call now, if that is all that is wrong.
    pub fn unavailable(&self) -> Option<&'static str> {
        match self {
            Self::Store(error) => error.unavailable(),
            Self::Engine(error) => error.unavailable(),
            Self::BadInput(_)
            | Self::NotFound { .. }
            | Self::Conflict { .. }
            | Self::Unauthenticated
            | Self::Forbidden { .. }
            | Self::Denied { .. }
            | Self::TooOften(_)
            | Self::Quota { .. }
            | Self::Unreadable { .. } => None,
        }
    }

    /// There is no `what` of that key or name.
    pub(crate) fn not_found(what: &'static str, which: impl ToString) -> Self {
        Self::NotFound { what, which: cut(&which.to_string()) }
    }

    /// `problem` is in the way; `help` says what to do.
    pub(crate) fn conflict(problem: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Conflict { problem: problem.into(), help: help.into(), versions: None }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::Nul) {
            return BadInput::new("input", "", "has a NUL character (\\u0000)", "remove it").into();
        }
        if let StoreError::SearchTooLong { limit } = error {
            let problem = format!("took longer than {} s and was given up", limit.as_secs_f64());
            let help = "narrow it, as by a state that few are in (state:failed, state:running), or \
                ask for the runs of one schedule";
            return BadInput::new("search", "", problem, help).into();
        }
        Self::Store(error)
    }
}

impl From<sea_orm::DbErr> for CommandError {
    fn from(error: sea_orm::DbErr) -> Self {
        StoreError::from(error).into()
    }
}

/// A value that cannot be accepted: which, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}{}: {problem}; {help}", quoted(value))]
pub struct BadInput {
    /// Path of the field in the input: `timing.expressions[0]`.
    pub field: String,
    /// The value, cut to 64 characters.
    pub value: String,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub help: String,
    /// The bytes within the value that are wrong, where one place can be named.
    pub position: Option<Range<usize>>,
}

impl BadInput {
    /// `field` has the value `value`, which has `problem`; `help` says what would be right.
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

    /// The same error about a field that stands inside `parent`.
    pub(crate) fn inside(mut self, parent: &str) -> Self {
        self.field = format!("{parent}.{}", self.field);
        self
    }

    /// What the executor says about the target of the task `field`.
    pub(crate) fn target(field: &str, error: TargetError) -> Self {
        match error {
            TargetError::Invalid { field: inner, problem, help } => {
                // The executor does not repeat values: some of them are secrets.
                let inner = naming::in_api(&inner);
                Self::new(format!("{field}.target.{inner}"), "", problem, help)
            }
            other @ TargetError::Setup { .. } => Self::new(
                format!("{field}.target"),
                "",
                other.to_string(),
                "mend the server's configuration, or use another target",
            ),
        }
    }

    /// What the calculator of time says about the calendars of a schedule.
    pub(crate) fn of_calendars(error: timetable::TimingError) -> Self {
        Self { field: error.field.clone(), ..Self::timing(error) }
    }

    /// What the calculator of time says about a timing.
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

/// The value as an error repeats it: not at all where there is none, or none that may be shown.
fn quoted(value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" {value:?}") }
}

/// The role that is missing, and the one that is there.
fn forbidden(needs: Role, has: Option<Role>, everywhere: bool) -> String {
    let (needs, place) = (needs.to_value(), if everywhere { " in every namespace" } else { "" });
    match has {
        Some(has) => {
            format!("this needs the role {needs}{place}; '{}' is what you have", has.to_value())
        }
        None if everywhere => format!("this needs the role {needs}{place}; you have none there"),
        None => format!("this needs the role {needs}; you have none"),
    }
}

/// At most 64 characters, with a mark where more was.
pub(crate) fn cut(value: &str) -> String {
    if value.chars().count() <= ECHO {
        return value.to_owned();
    }
    value.chars().take(ECHO - 1).chain(['…']).collect()
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
