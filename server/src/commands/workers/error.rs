use crate::{
    access::AccessRefusal,
    commands::{BadInput, CommandError},
    store::StoreError,
};

/// Why a worker's request is refused.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A value cannot be accepted.
    #[error(transparent)]
    Bad(#[from] BadInput),
    /// The worker speaks another version of the protocol.
    #[error(
        "this server speaks version {speaks} of the protocol, and the worker {asked}; use a \
         library that fits"
    )]
    Protocol {
        /// The worker's version.
        asked: u32,
        /// The server's version.
        speaks: u32,
    },
    /// The worker is not registered, or has sent no request for too long.
    #[error(
        "there is no such worker: it was silent for too long, or never registered; register again"
    )]
    Unknown,
    /// The job has ended, another worker has it, or its run is gone.
    #[error("the job no longer belongs to this worker: drop the work, and do not repeat this")]
    Stale,
    /// The namespace already has the maximum number of workers.
    #[error("the namespace has {0} workers, the maximum; stop some")]
    TooMany(u64),
    /// The worker's token already has the maximum number of workers.
    #[error(
        "{0} workers use this token, the maximum for one token; stop some, or use another token"
    )]
    TooManyOfToken(u64),
    /// An error that any command can return.
    #[error(transparent)]
    Command(CommandError),
}

impl WorkerError {
    /// The request does not match the protocol.
    pub fn unreadable(field: String, why: &serde_json::Error) -> Self {
        let problem = format!("cannot be read: {why}");
        Self::Bad(BadInput::new(field, "", problem, "see docs/workers.md for its shape"))
    }
}

impl From<CommandError> for WorkerError {
    fn from(error: CommandError) -> Self {
        if let CommandError::BadInput(bad) = error {
            return Self::Bad(bad);
        }
        Self::Command(error)
    }
}

impl From<StoreError> for WorkerError {
    fn from(error: StoreError) -> Self {
        Self::Command(error.into())
    }
}

impl From<AccessRefusal> for WorkerError {
    fn from(error: AccessRefusal) -> Self {
        Self::Command(error.into())
    }
}
