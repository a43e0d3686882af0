use entity::user::Role;

use crate::{
    access::{AccessRefusal, PASSWORD_CHANGE, forbidden},
    engine::EngineError,
    model::{BadInput, cut},
    store::StoreError,
};

/// Why a command was not carried out. Nothing has changed in that case.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A value cannot be accepted.
    #[error(transparent)]
    BadInput(#[from] BadInput),
    /// There is no such object.
    #[error("there is no {what} {which:?}")]
    NotFound {
        /// `schedule`, `run`, ...
        what: &'static str,
        /// The key or name that was requested.
        which: String,
    },
    /// The object is not in the state that the caller assumed.
    #[error("{problem}; {help}")]
    Conflict {
        /// What is in the way.
        problem: String,
        /// What the caller can do.
        help: String,
        /// The version that the caller saw and the current one.
        versions: Option<(i32, i32)>,
    },
    /// The caller is not signed in.
    #[error("sign in, or send a bearer token")]
    Unauthenticated,
    /// The caller has signed in with a one-time password and has not replaced it yet.
    #[error("{}", PASSWORD_CHANGE)]
    PasswordChangeRequired,
    /// The caller is signed in, but lacks the role.
    #[error("{}", forbidden(*needs, *has, *everywhere))]
    Forbidden {
        /// The lowest sufficient role.
        needs: Role,
        /// The caller's role there, if they have one.
        has: Option<Role>,
        /// Whether the role must hold in every namespace.
        everywhere: bool,
    },
    /// The caller's token does not give access to this queue.
    #[error("this token does not give access to the queue {name:?}; use one that does")]
    OtherQueue {
        /// The queue.
        name: String,
    },
    /// The caller may not do this, whatever their role.
    #[error("{problem}; {help}")]
    Denied {
        /// The denied action, and why it is denied.
        problem: &'static str,
        /// What the caller can do.
        help: &'static str,
    },
    /// A namespace would exceed its quota.
    #[error(
        "the namespace has {used} of {limit} {}, and this asks for {asked} more; {}",
        quota_words(quota),
        QUOTA_HELP
    )]
    Quota {
        /// The name of the quota in the API.
        quota: &'static str,
        /// How much it allows.
        limit: i64,
        /// How much of the quota is used.
        used: i64,
        /// How much more the call would use.
        asked: i64,
    },
    /// The caller tried too often; the number of seconds until the next try.
    #[error("too many attempts; wait {0} seconds")]
    TooOften(u64),
    /// The call needs a place to compute, and none became free in time.
    #[error(
        "this call computes, and as many such calls as its namespace or the server allows are in \
         progress; wait for their answers, and try again"
    )]
    Busy,
    /// A stored definition cannot be parsed.
    #[error("read the definition of {what}: {source}")]
    Unreadable {
        /// The object that the definition belongs to.
        what: String,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
    /// The engine failed to account for a schedule.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The help for an exceeded quota.
pub(crate) const QUOTA_HELP: &str = "delete schedules, or let them fire less often, or ask an \
                                     administrator of the instance for a larger quota (carillon \
                                     namespace quotas)";

fn quota_words(quota: &str) -> &'static str {
    match quota {
        "schedules" => "schedules",
        _ => "fires a minute",
    }
}

impl CommandError {
    /// Why the database cannot serve the call now, if that is the only problem.
    pub fn unavailable(&self) -> Option<&'static str> {
        match self {
            Self::Store(error) => error.unavailable(),
            Self::Engine(error) => error.unavailable(),
            Self::BadInput(_)
            | Self::NotFound { .. }
            | Self::Conflict { .. }
            | Self::Unauthenticated
            | Self::PasswordChangeRequired
            | Self::Forbidden { .. }
            | Self::OtherQueue { .. }
            | Self::Denied { .. }
            | Self::TooOften(_)
            | Self::Busy
            | Self::Quota { .. }
            | Self::Unreadable { .. } => None,
        }
    }

    /// The error that there is no `what` with this key or name.
    pub(crate) fn not_found(what: &'static str, which: impl ToString) -> Self {
        Self::NotFound { what, which: cut(&which.to_string()) }
    }

    /// The error that `problem` prevents the command; `help` says how to proceed.
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
            let problem = format!("took longer than {} s and was stopped", limit.as_secs_f64());
            let help = "narrow it, for example by a state that few are in (state:failed, \
                        state:running), or ask for the runs of one schedule";
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

impl From<AccessRefusal> for CommandError {
    fn from(refused: AccessRefusal) -> Self {
        match refused {
            AccessRefusal::NotFound { what, which } => Self::NotFound { what, which },
            AccessRefusal::PasswordChange => Self::PasswordChangeRequired,
            AccessRefusal::Queue { name } => Self::OtherQueue { name },
            AccessRefusal::Forbidden { needs, has, everywhere } => {
                Self::Forbidden { needs, has, everywhere }
            }
        }
    }
}

pub(in crate::commands) fn schedule_name_taken(name: &str) -> BadInput {
    let help = "choose another name, or edit that one";
    BadInput::new("name", name, "is the name of another schedule", help)
}

pub(in crate::commands) fn workflow_missing(name: &str) -> BadInput {
    let help = "name a workflow of this namespace, or give a task";
    BadInput::new("workflow", name, "does not exist", help)
}

pub(in crate::commands) fn group_missing(name: &str) -> BadInput {
    let help = "name a concurrency group of this namespace, or create it first";
    BadInput::new("group", name, "does not exist", help)
}
