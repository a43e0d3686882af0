use std::error::Error as StdError;

/// Why a target cannot be accepted, or the executor cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The definition has a value that cannot work on this server.
    #[error("{field}: {problem}; {help}")]
    Invalid {
        /// Path of the field within the target: `http.url`, `command.args[2]`.
        field: String,
        /// What is wrong with the field's value.
        problem: String,
        /// How to correct the definition or the configuration.
        help: String,
    },
    /// A part of the executor could not be created.
    #[error("{what}: {source}")]
    Setup {
        /// The part, and where its value came from.
        what: &'static str,
        /// The part's error.
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl TargetError {
    /// An error about one field of the definition.
    pub(crate) fn invalid(
        field: impl Into<String>,
        problem: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::Invalid { field: field.into(), problem: problem.into(), help: help.into() }
    }

    /// An error about a part of the executor.
    pub(crate) fn setup(
        what: &'static str,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::Setup { what, source: source.into() }
    }

    /// The field that the error concerns, if any.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Invalid { field, .. } => Some(field),
            Self::Setup { .. } => None,
        }
    }
}
