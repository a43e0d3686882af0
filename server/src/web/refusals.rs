//! Counts repeated refusals and logs each kind once a minute, because a log line for each refusal
//! would let an unauthenticated caller fill the disk.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::clock::Clock;

/// Interval between two lines about one kind.
const INTERVAL: Duration = Duration::from_secs(60);
/// Maximum number of characters from outside that a log line repeats.
const MAX_TEXT: usize = 200;

/// Why a request or a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RefusalKind {
    /// There is no place for the connection.
    Connection,
    /// There are too many WebSockets.
    Socket,
    /// The host is not allowed.
    Host,
    /// The request comes from a page of another site.
    Site,
    /// The browser returns from a sign-in that it did not begin.
    SignIn,
    /// The server failed to answer.
    Failed,
}

impl RefusalKind {
    fn word(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Socket => "socket",
            Self::Host => "host",
            Self::Site => "site",
            Self::SignIn => "sign-in",
            Self::Failed => "failed",
        }
    }
}

/// The refusals since the last line about each kind. Cheap to clone; clones share one count.
#[derive(Clone, Debug)]
pub(super) struct Refusals {
    clock: Clock,
    kinds: Arc<Mutex<HashMap<RefusalKind, RefusalCount>>>,
}

#[derive(Debug)]
struct RefusalCount {
    since: Instant,
    /// Refusals that no line has reported yet.
    untold: u64,
    example: String,
}

impl Refusals {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, kinds: Arc::default() }
    }

    /// Logs a refusal, or counts it if its kind was logged within the last minute. `example`
    /// describes the refusal, and may contain text from outside.
    pub(super) fn note(&self, kind: RefusalKind, example: &str) {
        if let Some(count) = self.count(kind, example) {
            tell(kind, count, example);
        }
    }

    /// The number of refusals to report now; `None` if no line is due.
    fn count(&self, kind: RefusalKind, example: &str) -> Option<u64> {
        let now = self.clock.instant();
        let mut kinds = self.locked();
        let fresh = RefusalCount { since: now, untold: 0, example: String::new() };
        match kinds.get_mut(&kind) {
            Some(counted) if now.duration_since(counted.since) < INTERVAL => {
                counted.untold += 1;
                counted.example = cut(example).into_owned();
                None
            }
            Some(counted) => {
                let untold = counted.untold;
                *counted = fresh;
                Some(untold + 1)
            }
            None => {
                kinds.insert(kind, fresh);
                Some(1)
            }
        }
    }

    /// Logs counted refusals once their minute is over. Called periodically.
    pub(super) fn flush(&self) {
        let now = self.clock.instant();
        let mut kinds = self.locked();
        for (kind, counted) in kinds.iter_mut() {
            if counted.untold > 0 && now.duration_since(counted.since) >= INTERVAL {
                tell(*kind, counted.untold, &counted.example);
                (counted.since, counted.untold) = (now, 0);
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<RefusalKind, RefusalCount>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tell(kind: RefusalKind, count: u64, example: &str) {
    let (kind, example) = (kind.word(), cut(example));
    if kind == RefusalKind::Failed.word() {
        tracing::error!(count, %example, "failed to answer requests");
    } else {
        tracing::warn!(kind, count, %example, "refused requests");
    }
}

/// The beginning of a text from outside, for the log or a response, without control characters.
pub(super) fn cut(text: &str) -> Cow<'_, str> {
    let fits = text.len() <= MAX_TEXT && !text.contains(char::is_control);
    if fits {
        return Cow::Borrowed(text);
    }
    let mut cut: String =
        text.chars().take(MAX_TEXT).map(|c| if c.is_control() { '?' } else { c }).collect();
    if text.chars().nth(MAX_TEXT).is_some() {
        cut.push('…');
    }
    Cow::Owned(cut)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::clock::ManualClock;

    #[test]
    fn a_kind_is_logged_at_once_and_then_once_a_minute_with_its_count() {
        let clock = ManualClock::new(DateTime::UNIX_EPOCH);
        let refusals = Refusals::new(clock.clock());
        assert_eq!(refusals.count(RefusalKind::Site, "a"), Some(1));
        assert_eq!(refusals.count(RefusalKind::Host, "a"), Some(1), "another kind");
        for _ in 0..10_000 {
            assert_eq!(refusals.count(RefusalKind::Site, "a"), None);
        }
        clock.pass(INTERVAL);
        assert_eq!(refusals.count(RefusalKind::Site, "a"), Some(10_001));
        assert_eq!(refusals.count(RefusalKind::Site, "b"), None);
        // Counted refusals are logged even if no more follow.
        clock.pass(INTERVAL);
        refusals.flush();
        assert_eq!(refusals.locked()[&RefusalKind::Site].untold, 0);
    }

    #[test]
    fn a_text_from_outside_is_cut() {
        assert_eq!(cut("https://example.org"), "https://example.org");
        assert_eq!(cut("a\nb"), "a?b");
        let long = "ä".repeat(100_000);
        assert_eq!(cut(&long).chars().count(), MAX_TEXT + 1);
    }
}
