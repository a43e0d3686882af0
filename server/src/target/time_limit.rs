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
        let left = self.limit.saturating_sub(self.elapsed());
        let kept = self.clock.timeout(left, future).await;
        kept.map_err(|_| format!("within {}", SecondsText(self.limit)))
    }
}
