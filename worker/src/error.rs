use std::{fmt, time::Duration};

use reqwest::StatusCode;

/// Why a program or a worker cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server refused a request.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The server did not answer.
    #[error("the server did not answer: {0}")]
    Unanswered(#[from] reqwest::Error),
    /// The server sent an answer that does not belong to this protocol.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
    /// The server refused the module of a program. Nothing was changed.
    #[error("module {module}: {problem}")]
    Deploy {
        /// The module's name.
        module: String,
        /// What is wrong with the module.
        problem: String,
    },
    /// Declarations contradict each other, or a setting is invalid.
    #[error("{0}")]
    Setting(String),
}

/// An error response of the server.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// The protocol's code, such as `FORBIDDEN`.
    pub code: String,
    /// What is wrong with the request.
    pub message: String,
    pub(crate) retry_after: Option<Duration>,
}

impl ApiError {
    /// Whether the same request may succeed later. A proxy in front of the server answers with 408
    /// if it has waited too long for a request on an idle connection.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self.status, 408 | 425 | 429) || self.status >= 500
    }

    /// Whether the job, or the worker, no longer belongs to this process.
    pub(crate) fn is_gone(&self) -> bool {
        [StatusCode::NOT_FOUND, StatusCode::CONFLICT]
            .iter()
            .any(|gone| self.status == gone.as_u16())
    }
}

impl Error {
    /// Whether the same request may succeed later.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Api(error) => error.is_passing(),
            Self::Unanswered(error) => !error.is_builder(),
            Self::Unreadable(_) => true,
            Self::Deploy { .. } | Self::Setting(_) => false,
        }
    }

    /// Whether the job, or the worker, no longer belongs to this process.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self, Self::Api(error) if error.is_gone())
    }

    pub(crate) fn is_status(&self, status: StatusCode) -> bool {
        matches!(self, Self::Api(error) if error.status == status.as_u16())
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Api(error) => error.retry_after,
            Self::Unanswered(_) | Self::Unreadable(_) | Self::Deploy { .. } | Self::Setting(_) => {
                None
            }
        }
    }
}

/// Why a task failed. `?` converts any error to a `Failure`, and another attempt may follow.
pub struct Failure {
    pub(crate) message: String,
    pub(crate) retry: bool,
}

impl Failure {
    /// A failure after which another attempt may succeed.
    pub fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), retry: true }
    }

    /// A failure that another attempt would repeat, so the server does not make one.
    pub fn permanent(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), retry: false }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(error) = source {
            message.push_str(": ");
            message.push_str(&error.to_string());
            source = error.source();
        }
        Self { message, retry: true }
    }
}
