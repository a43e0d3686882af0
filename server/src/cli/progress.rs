//! What a command that takes its time says meanwhile: one line on standard error that is replaced
//! and taken away at the end. Nothing where that is no terminal.

use std::{fmt::Display, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};

/// Told from when on: most answers come sooner, and a line that flashes is no help.
const BEGINS: Duration = Duration::from_millis(400);

/// The line of one command.
pub(super) struct Progress {
    bar: ProgressBar,
    action: &'static str,
}

impl Progress {
    /// Something that takes its time begins: `action` as in "failed to ACTION".
    pub(super) fn begin(action: &'static str) -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        Self { bar, action }
    }

    /// Whether anybody sees it.
    pub(super) fn is_seen(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// How far it is.
    pub(super) fn tell(&self, how_far: impl Display) {
        if self.bar.elapsed() < BEGINS || self.bar.is_hidden() {
            return;
        }
        self.bar.set_message(format!("{}: {how_far}", self.action));
        self.bar.tick();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
