//! What workers say: programs that pull tasks from queues.
//!
//! Promises: a job is one worker's at a time; each word about it names the token that it was handed
//! over with, and a word that comes late, or of somebody else, changes nothing and is told so. The
//! same word again, after a lost answer, is answered as before. A token opens the queues that it
//! names and nothing else.
//!
//! - `register`: a program comes and goes
//! - `board`: what waits, looked at once for all workers
//! - `poll`: it waits for jobs
//! - `words`: what it says of those that it has
//! - `queues`: how many jobs of a queue workers have at once
//! - `error`: why it is refused

mod board;
mod error;
mod poll;
mod queues;
mod register;
mod words;

use entity::worker;
use uuid::Uuid;

pub(super) use board::Board;
pub use error::WorkerError;
pub use poll::{Asked, Job, Polled};
pub(crate) use queues::MAX_LIMITED;
pub(crate) use register::MAX_WORKERS;
pub use register::{NewWorker, PROTOCOL};
pub use words::Kept;

use crate::{
    access::Viewer,
    commands::{BadInput, Commands},
    engine::jobs::SILENT,
    store::workers::programs,
};

/// It had better be heard so often, in seconds.
pub const HEARTBEAT_SECONDS: u64 = 10;
/// A poll is held open for so many seconds at the most.
pub const MAX_WAIT_SECONDS: u64 = 20;

/// The most jobs that one request names.
const MAX_NAMED: usize = 1_000;

impl Commands {
    /// The worker of that key, as far as whoever asks is that worker.
    async fn worker(&self, who: &Viewer, id: Uuid) -> Result<worker::Model, WorkerError> {
        let since = (self.clock.now() - SILENT).into();
        let found = programs::heard_since(self.store.read(), id, since).await?;
        let row = found.filter(|row| row.token_id == who.id).ok_or(WorkerError::Unknown)?;
        // What the token may do may have changed since.
        who.pulls(row.namespace_id, &row.queues.0)?;
        Ok(row)
    }
}

fn bad(field: &str, value: impl ToString, problem: impl Into<String>, help: &str) -> WorkerError {
    WorkerError::Bad(BadInput::new(field, value, problem.into(), help))
}
