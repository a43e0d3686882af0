//! How long history is kept.

use std::time::Duration;

/// What an operator can set about retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// How many days a namespace without its own retention keeps settled history.
    pub days: i32,
    /// Time between two rounds.
    pub interval: Duration,
    /// How long the answer to a call with an idempotency key is kept.
    pub answers: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self { days: 45, interval: Duration::from_hours(1), answers: Duration::from_hours(24) }
    }
}
