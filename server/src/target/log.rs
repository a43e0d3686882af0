use tokio::sync::mpsc;

use super::{Line, Stream};
use crate::clock::Clock;

/// The log of one attempt.
pub struct AttemptLog<'a> {
    clock: &'a Clock,
    lines: mpsc::Sender<Line>,
}

impl<'a> AttemptLog<'a> {
    pub(crate) fn new(clock: &'a Clock, lines: mpsc::Sender<Line>) -> Self {
        Self { clock, lines }
    }

    /// Writes a line. Waits while the reader is behind, so that memory use stays bounded.
    pub(crate) async fn write(&self, stream: Stream, text: String) {
        self.write_line(self.line(stream, text, 0)).await;
    }

    /// Writes a line that was read earlier. Like [`AttemptLog::write`], it waits while the reader
    /// is behind.
    pub(crate) async fn write_line(&self, line: Line) {
        // If the reader is gone, the line is dropped and the attempt continues.
        let _ = self.lines.send(line).await;
    }

    /// A line that was read just now.
    pub(crate) fn line(&self, stream: Stream, text: String, left_out: usize) -> Line {
        Line { at: self.clock.now(), stream, text, left_out }
    }

    /// Writes a line from Carillon itself.
    pub(crate) async fn system(&self, text: impl Into<String>) {
        self.write(Stream::System, text.into()).await;
    }
}
