//! The requests of workers: programs that pull tasks from queues.
//!
//! Promises: a job belongs to one worker at a time. Each request about a job contains the token
//! that came with the job; a late request, or one from another worker, is refused and changes
//! nothing. A request that is repeated because its answer was lost gets the same answer. A token
//! gives access to the queues that it names and to nothing else.
//!
//! - `register`: a worker registers and leaves
//! - `board`: waiting jobs, read once for all workers
//! - `poll`: a worker waits for jobs; `poll_step`: what it does after each look for them
//! - `reports`: a worker's requests about the jobs that it holds; `ends`: reports on how jobs
//!   ended, many in one transaction
//! - `queues`: limits on how many jobs of a queue all workers may hold at once
//! - `error`: why a request is refused

mod board;
mod ends;
mod error;
mod poll;
mod poll_step;
mod queues;
mod register;
mod reports;

use entity::worker;
use uuid::Uuid;

pub(super) use board::Board;
pub(super) use ends::EndBatcher;
pub use error::WorkerError;
pub use poll::{PollRequest, Polled, PolledJob};
pub(crate) use queues::MAX_LIMITED;
pub(crate) use register::MAX_WORKERS;
pub use register::{NewWorker, PROTOCOL, check_protocol};
pub use reports::HeartbeatAnswer;

use crate::{
    access::Viewer,
    commands::{BadInput, Commands},
    engine::jobs::{LEASE, SILENT},
    store::workers::programs,
};

/// How long a job stays leased without a report from its worker, in seconds.
pub const LEASE_SECONDS: u64 = LEASE.as_secs();
/// How often a worker should send a heartbeat, in seconds.
pub const HEARTBEAT_SECONDS: u64 = 10;
/// The longest time that a poll is held open, in seconds.
pub const MAX_WAIT_SECONDS: u64 = 20;

/// Maximum number of jobs that one request may name.
const MAX_NAMED: usize = 1_000;

impl Commands {
    /// The worker with this key. Fails if the caller may not act as that worker.
    async fn worker(&self, who: &Viewer, id: Uuid) -> Result<worker::Model, WorkerError> {
        let row = self.heard_worker(id).await?;
        self.board.knows(id, row.clone()).await;
        checked(who, row)
    }

    /// The worker with this key, by a row read within the last second. This is for requests that
    /// come with each job; their writes are checked against the job's own row.
    async fn known_worker(&self, who: &Viewer, id: Uuid) -> Result<worker::Model, WorkerError> {
        let since = self.clock.now() - SILENT;
        let is_heard = |row: &worker::Model| row.heartbeat_at >= since.into();
        let known = self.board.known(id, is_heard, self.heard_worker(id)).await?;
        checked(who, known)
    }

    /// The worker with this key, if it has sent a request recently.
    async fn heard_worker(&self, id: Uuid) -> Result<Option<worker::Model>, WorkerError> {
        let since = (self.clock.now() - SILENT).into();
        Ok(programs::heard_since(self.store.read(), id, since).await?)
    }
}

/// The worker in a row. Fails if the caller may not act as that worker.
fn checked(who: &Viewer, row: Option<worker::Model>) -> Result<worker::Model, WorkerError> {
    let row = row.filter(|row| row.token_id == who.id).ok_or(WorkerError::Unknown)?;
    // The token's rights may have changed since the worker registered.
    who.pulls(row.namespace_id, &row.queues.0)?;
    Ok(row)
}

fn bad(field: &str, value: impl ToString, problem: impl Into<String>, help: &str) -> WorkerError {
    WorkerError::Bad(BadInput::new(field, value, problem.into(), help))
}
