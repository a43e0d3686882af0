use std::{io, path::Path, process::ExitCode};

use super::client::ClientError;
use crate::{
    access::{PeopleError, Refused},
    app::AppError,
    commands::CommandError,
    config::ConfigError,
    store::{StoreError, backup::BackupError},
    telemetry::TelemetryError,
};

/// Why a subcommand did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// The command line is wrong in a way that its parser cannot know.
    #[error("{0}")]
    Usage(String),
    /// A timing was refused: one line, and the place marked under it.
    #[error("{0}")]
    Timing(String),
    /// A search was refused, in the same way.
    #[error("{0}")]
    Search(String),
    /// A strict linter found something.
    #[error("{0} warnings")]
    Warnings(usize),
    /// There are changes, or something is otherwise, and the exit code was asked to say so.
    #[error("something differs")]
    Differs,
    /// A server did not do what it was asked to.
    #[error("failed to {0}")]
    Client(#[from] ClientError),
    /// An order for many did not come to its end.
    #[error("{error}; {told}")]
    Stopped {
        /// Why.
        error: Box<CliError>,
        /// How far it came, and how it goes on.
        told: String,
    },
    /// A server is not well.
    #[error("the server at {0} is unhealthy: {1}")]
    Unhealthy(String, String),
    /// The doctor found errors: so many, in so many checks.
    #[error("{0} of {1} checks found an error")]
    Unwell(usize, usize),
    /// The settings cannot be used.
    #[error("failed to {0}")]
    Config(#[from] ConfigError),
    /// The server could not start or go on.
    #[error("failed to {0}")]
    App(#[from] AppError),
    /// The database could not be used.
    #[error("failed to {0}")]
    Store(#[from] StoreError),
    /// A backup was not made, or not restored.
    #[error("failed to {0}")]
    Backup(#[from] BackupError),
    /// Somebody pressed Ctrl-C.
    #[error("failed to {0}: it was interrupted, and nothing was left behind")]
    Interrupted(&'static str),
    /// Logging could not be set up.
    #[error("failed to {0}")]
    Telemetry(#[from] TelemetryError),
    /// A person or token was refused.
    #[error("failed to {0}")]
    People(#[from] PeopleError),
    /// A command was refused, or could not be carried out.
    #[error("{}", command(.0))]
    Command(#[from] CommandError),
    /// The file of the servers that somebody is signed in to.
    #[error("failed to {what} the profiles in '{file}': {problem}")]
    Profiles {
        /// Read or write.
        what: &'static str,
        /// Where they are.
        file: String,
        /// What is wrong, without what is in the file.
        problem: String,
    },
    /// There is no database yet, and nobody asked for one.
    #[error(
        "there is no database at {place} ({named}): give --config or --database-url with the one \
         that is meant, or --init to make it"
    )]
    NoDatabase {
        /// The file, or the address without its password.
        place: String,
        /// Who says so.
        named: &'static str,
    },
    /// A run that was waited for did not succeed.
    #[error("{0}")]
    RunFailed(String),
    /// Standard input or output broke off.
    #[error("failed to {what}: {source}")]
    Io {
        /// What was done.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

impl From<Refused> for CliError {
    fn from(refused: Refused) -> Self {
        Self::Command(refused.into())
    }
}

/// A refusal says itself what is in the way; what went wrong reads after "failed to".
fn command(error: &CommandError) -> String {
    let is_failure = matches!(
        error,
        CommandError::Unreadable { .. } | CommandError::Store(_) | CommandError::Engine(_)
    );
    if is_failure { format!("failed to {error}") } else { error.to_string() }
}

impl CliError {
    /// Names what failed about input or output.
    pub(super) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }

    /// Names what failed about the profiles.
    pub(super) fn profiles(
        what: &'static str,
        file: &Path,
        problem: &dyn std::fmt::Display,
    ) -> Self {
        Self::Profiles { what, file: file.display().to_string(), problem: problem.to_string() }
    }

    /// The same, said about a file.
    pub(super) fn about(mut self, file: &Path) -> Self {
        if let Self::Client(
            ClientError::Refused { problem, .. } | ClientError::Failed { problem, .. },
        ) = &mut self
        {
            *problem = format!("{}: {problem}", file.display());
        }
        self
    }

    /// Prints it, and gives the exit code.
    pub(super) fn report(self) -> ExitCode {
        // Whoever closed the pipe has read enough.
        if let Self::Io { source, .. } = &self
            && source.kind() == io::ErrorKind::BrokenPipe
        {
            return ExitCode::SUCCESS;
        }
        if matches!(self, Self::Differs) {
            return ExitCode::from(3);
        }
        eprintln!("error: {self}");
        ExitCode::from(self.code())
    }

    fn code(&self) -> u8 {
        if let Self::Stopped { error, .. } = self {
            return error.code();
        }
        if matches!(self, Self::RunFailed(_)) {
            return 4;
        }
        if matches!(self, Self::Usage(_) | Self::Timing(_) | Self::Search(_)) { 2 } else { 1 }
    }
}
