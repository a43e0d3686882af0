use std::{io, path::Path, process::ExitCode};

use super::{client::ClientError, output};
use crate::{
    access::{AccessRefusal, PeopleError},
    app::AppError,
    commands::CommandError,
    config::ConfigError,
    store::{StoreError, backup::BackupError},
    telemetry::TelemetryError,
};

/// Why a subcommand failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    /// The command line is wrong in a way that its parser cannot detect.
    #[error("{0}")]
    Usage(String),
    /// A timing was refused: one line, with the position marked below it.
    #[error("{0}")]
    Timing(String),
    /// A search was refused, reported like a timing.
    #[error("{0}")]
    Search(String),
    /// Linting in strict mode found warnings.
    #[error("{0} warnings")]
    Warnings(usize),
    /// There are changes or differences, and the user wants the exit code to show that.
    #[error("something differs")]
    Differs,
    /// A request to a server failed.
    #[error("failed to {0}")]
    Client(#[from] ClientError),
    /// A bulk operation did not finish.
    #[error("{error}; {told}")]
    Stopped {
        /// The cause.
        error: Box<CliError>,
        /// The progress of the operation, and how to continue it.
        told: String,
    },
    /// A server is unhealthy.
    #[error("the server at {0} is unhealthy: {1}")]
    Unhealthy(String, String),
    /// The ledger does not account for what was due.
    #[error("the ledger does not add up: {0}")]
    Unaccounted(String),
    /// The doctor found errors: the number of failed checks, and of all checks.
    #[error("{0} of {1} checks found an error")]
    Unwell(usize, usize),
    /// The number of stored texts that this version cannot read.
    #[error(
        "this version cannot read {0} of the stored definitions: save or delete them with the \
         running version before the upgrade"
    )]
    NotUpgradable(usize),
    /// The settings cannot be used.
    #[error("failed to {0}")]
    Config(#[from] ConfigError),
    /// The server could not start, or had to stop.
    #[error("failed to {0}")]
    App(#[from] AppError),
    /// The database could not be used.
    #[error("failed to {0}")]
    Store(#[from] StoreError),
    /// A backup was not made, or not restored.
    #[error("failed to {0}")]
    Backup(#[from] BackupError),
    /// The user pressed Ctrl-C.
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
    /// The profiles file, with the servers that the user is signed in to, failed.
    #[error("failed to {what} the profiles in '{file}': {problem}")]
    Profiles {
        /// The operation: read or write.
        what: &'static str,
        /// The file's path.
        file: String,
        /// What is wrong, without the file's contents.
        problem: String,
    },
    /// A file could not be written.
    #[error("failed to write '{file}': {source}")]
    Unwritten {
        /// The file's path.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// There is no database, and the user did not ask for a new one.
    #[error(
        "there is no database at {place} ({named}): name the right one with --config or \
         --database-url, or create it with --init"
    )]
    NoDatabase {
        /// The file, or the URL without its password.
        place: String,
        /// The source of that setting.
        named: &'static str,
    },
    /// An awaited run did not succeed.
    #[error("{0}")]
    RunFailed(String),
    /// Standard input or output failed.
    #[error("failed to {what}: {source}")]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl From<AccessRefusal> for CliError {
    fn from(refused: AccessRefusal) -> Self {
        Self::Command(refused.into())
    }
}

/// The text of the error: a refusal is a complete message, and a failure follows "failed to".
fn command(error: &CommandError) -> String {
    let is_failure = matches!(
        error,
        CommandError::Unreadable { .. } | CommandError::Store(_) | CommandError::Engine(_)
    );
    if is_failure { format!("failed to {error}") } else { error.to_string() }
}

impl CliError {
    /// Names the operation on input or output that failed.
    pub(super) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }

    /// Names the operation on the profiles that failed.
    pub(super) fn profiles(
        what: &'static str,
        file: &Path,
        problem: &dyn std::fmt::Display,
    ) -> Self {
        Self::Profiles { what, file: file.display().to_string(), problem: problem.to_string() }
    }

    /// Adds the file that the error concerns.
    pub(super) fn about(mut self, file: &Path) -> Self {
        if let Self::Client(
            ClientError::Refused { problem, .. } | ClientError::Failed { problem, .. },
        ) = &mut self
        {
            *problem = format!("{}: {problem}", file.display());
        }
        self
    }

    /// Prints the error, and returns the exit code.
    pub(super) fn report(self) -> ExitCode {
        // If the reader closed the pipe, it does not want more output: this is not an error.
        if let Self::Io { source, .. } = &self
            && source.kind() == io::ErrorKind::BrokenPipe
        {
            return ExitCode::SUCCESS;
        }
        if matches!(self, Self::Differs) {
            return ExitCode::from(3);
        }
        output::aside(format_args!("error: {self}"));
        ExitCode::from(self.code())
    }

    /// The exit code; see [`CliError::report`].
    pub(super) fn code(&self) -> u8 {
        if let Self::Stopped { error, .. } = self {
            return error.code();
        }
        if matches!(self, Self::RunFailed(_)) {
            return 4;
        }
        if matches!(self, Self::Usage(_) | Self::Timing(_) | Self::Search(_)) { 2 } else { 1 }
    }
}
