use crate::{
    access::Refused,
    commands::{BadInput, CommandError},
    store::StoreError,
};

/// Why a worker is refused.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A value cannot be accepted.
    #[error(transparent)]
    Bad(#[from] BadInput),
    /// It speaks another version.
    #[error(
        "this server speaks version {speaks} of the protocol, and the worker {asked}; take a library that fits"
    )]
    Protocol {
        /// The worker's.
        asked: u32,
        /// The server's.
        speaks: u32,
    },
    /// It is not registered, or was not heard for too long.
    #[error(
        "there is no such worker: it was not heard for too long, or never registered; register again"
    )]
    Unknown,
    /// The job is another's by now, has ended, or nobody waits for it.
    #[error("the job is not this worker's any more: drop the work, and do not repeat this")]
    Stale,
    /// There are as many workers as a namespace may have.
    #[error("the namespace has {0} workers, the most that it may have; end some")]
    TooMany(u64),
    /// There are as many workers with one token as there may be.
    #[error("{0} workers came with this token, the most that one opens; end some, or take another")]
    TooManyOfToken(u64),
    /// Whatever every command may be refused for.
    #[error(transparent)]
    Command(CommandError),
}

impl WorkerError {
    /// What was sent is not what the protocol has there.
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

impl From<Refused> for WorkerError {
    fn from(error: Refused) -> Self {
        Self::Command(error.into())
    }
}
