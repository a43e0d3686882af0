//! What the tasks that carry out attempts send to those that write.

use tokio::sync::oneshot;

use crate::store::{flows::Step, logs::NewChunk};

/// To the writer.
#[derive(Debug)]
pub(in crate::engine) enum LogMessage {
    /// Write it.
    Lines(NewChunk),
    /// Say when all that came before is written.
    Flush(oneshot::Sender<()>),
}

/// A step, and whom to tell whether it was written.
#[derive(Debug)]
pub(in crate::engine) struct Asked {
    pub(in crate::engine) step: Step,
    pub(in crate::engine) answer: oneshot::Sender<Written>,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Written {
    /// It is in the tables.
    Done,
    /// The hold was lost: somebody else decides about the run.
    Lost,
    /// The database refuses it, however often it is tried: a defect.
    Refused,
}
