//! Progress of a slow command: one line on standard error that is updated, and removed at the end.
//! If standard error is not a terminal, nothing is shown.

use std::{fmt::Display, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};

/// The delay before the line is shown. Most commands finish sooner, and a line that appears only
/// briefly does not help.
const BEGINS: Duration = Duration::from_millis(400);

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
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
