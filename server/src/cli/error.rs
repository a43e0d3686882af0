use std::{io, process::ExitCode};

use crate::{
    app::AppError, config::ConfigError, engine::people::PeopleError, store::StoreError,
    telemetry::TelemetryError,
};

/// Why a subcommand did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// The command line is wrong in a way that its parser cannot know.
    #[error("{0}")]
    Usage(String),
    /// The settings cannot be used.
    #[error("failed to {0}")]
    Config(#[from] ConfigError),
    /// The server could not start or go on.
    #[error("failed to {0}")]
    App(#[from] AppError),
    /// The database could not be used.
    #[error("failed to {0}")]
    Store(#[from] StoreError),
    /// Logging could not be set up.
    #[error("failed to {0}")]
    Telemetry(#[from] TelemetryError),
    /// A person or token was refused.
    #[error("failed to {0}")]
    People(#[from] PeopleError),
    /// Standard input or output broke off.
    #[error("failed to {what}: {source}")]
    Io {
        /// What was done.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl CliError {
    /// Names what failed about input or output.
    pub(super) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }

    /// Prints it, and gives the exit code.
    pub(super) fn report(self) -> ExitCode {
        // Whoever closed the pipe has read enough.
        if let Self::Io { source, .. } = &self
            && source.kind() == io::ErrorKind::BrokenPipe
        {
            return ExitCode::SUCCESS;
        }
        eprintln!("error: {self}");
        match self {
            Self::Usage(_) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}
