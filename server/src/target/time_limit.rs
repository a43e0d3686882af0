//! The time limit of one attempt, for all of its steps together.

use std::time::{Duration, Instant};

use super::text::SecondsText;
use crate::clock::Clock;

/// The time limit of an attempt.
pub(super) struct TimeLimit<'a> {
    clock: &'a Clock,
    started: Instant,
    limit: Duration,
}

impl<'a> TimeLimit<'a> {
    /// The limit of an attempt that starts now.
    pub(super) fn start(clock: &'a Clock, limit: Duration) -> Self {
        Self { clock, started: clock.instant(), limit }
    }

    /// The time since the attempt started.
    pub(super) fn elapsed(&self) -> Duration {
        self.clock.instant().saturating_duration_since(self.started)
    }

    /// Waits for `future` within the remaining time. If the time runs out, returns a text with the
    /// limit: `within 30 s`.
    pub(super) async fn keep<F: Future>(&self, future: F) -> Result<F::Output, String> {
        let kept = self.clock.timeout(self.left(), future).await;
        kept.map_err(|_| format!("within {}", SecondsText(self.limit)))
    }

    /// Waits until the time has run out.
    pub(super) async fn passed(&self) {
        self.clock.sleep(self.left()).await;
    }

    fn left(&self) -> Duration {
        self.limit.saturating_sub(self.elapsed())
    }
}
