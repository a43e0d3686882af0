//! Progress of a slow command: one line on standard error that is updated, and removed at the end.
//! If standard error is not a terminal, nothing is shown.

use std::{fmt::Display, pin::Pin, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};

use crate::clock::Clock;

/// The delay before the line is shown. Most commands finish sooner, and a line that appears only
/// briefly does not help.
const BEGINS: Duration = Duration::from_millis(400);

/// How often the line is updated during work that does not report its progress.
const BEAT: Duration = Duration::from_millis(200);

/// The progress line of one command.
pub(super) struct ProgressLine {
    bar: ProgressBar,
    action: &'static str,
}

impl ProgressLine {
    /// Begins a slow operation. `action` reads as in "failed to ACTION".
    pub(super) fn begin(action: &'static str) -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        Self { bar, action }
    }

    /// Whether the line is visible.
    pub(super) fn is_seen(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Updates the progress.
    pub(super) fn tell(&self, how_far: impl Display) {
        if self.bar.elapsed() < BEGINS || self.bar.is_hidden() {
            return;
        }
        self.bar.set_message(format!("{}: {how_far}", self.action));
        self.bar.tick();
    }

    /// Waits for work that does not report its progress, and updates the line meanwhile.
    pub(super) async fn during<T, D: Display>(
        &self,
        clock: &Clock,
        how_far: impl Fn() -> D,
        mut work: Pin<&mut impl Future<Output = T>>,
    ) -> T {
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = clock.sleep(BEAT) => self.tell(how_far()),
            }
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, pin::pin};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn progress_is_told_while_the_work_lasts() {
        // The work ends once its progress was told.
        let (end, work) = oneshot::channel();
        let end = Cell::new(Some(end));
        let how_far = || {
            let told = end.take().map(|end: oneshot::Sender<u8>| end.send(7));
            format!("{told:?}")
        };
        let line = ProgressLine::begin("test");
        assert_eq!(line.during(&Clock::system(), how_far, pin!(work)).await, Ok(7));
    }
}
