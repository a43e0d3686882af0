use tokio::sync::mpsc;

use super::{Line, Stream};
use crate::clock::Clock;

/// Where one attempt writes its log lines.
pub(crate) struct Log<'a> {
    clock: &'a Clock,
    lines: mpsc::Sender<Line>,
}

impl<'a> Log<'a> {
    pub(crate) fn new(clock: &'a Clock, lines: mpsc::Sender<Line>) -> Self {
        Self { clock, lines }
    }

    /// Writes a line; waits while the reader is behind, so that memory stays bounded.
    pub(crate) async fn write(&self, stream: Stream, text: String) {
        let line = Line { at: self.clock.now(), stream, text };
        // Whoever stopped reading does not want the line; the attempt goes on.
        let _ = self.lines.send(line).await;
    }

    /// Writes a line of our own.
    pub(crate) async fn system(&self, text: impl Into<String>) {
        self.write(Stream::System, text.into()).await;
    }
}
