//! Computes when a failed attempt is repeated.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How the delay grows from one attempt to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    /// The delay stays the same.
    Fixed,
    /// The delay doubles.
    #[default]
    Exponential,
}

/// A retry policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Maximum number of attempts, including the first: 1 to 100.
    pub max_attempts: i32,
    /// How the delay grows. See [`Backoff`].
    pub backoff: Backoff,
    /// Delay before the second attempt, in milliseconds.
    pub initial_ms: i64,
    /// The longest delay, in milliseconds.
    pub max_ms: i64,
    /// The random share of the delay, from 0 to 1: with 0.2, a delay of 10 s becomes 8 to 10 s.
    pub jitter: f64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_attempts: 1,
            backoff: Backoff::Exponential,
            initial_ms: 1_000,
            max_ms: 300_000,
            jitter: 0.2,
        }
    }
}

impl Policy {
    /// The delay after failure number `failures` (from 1). `random` is uniform in `[0, 1)`.
    pub fn delay(&self, failures: i32, random: f64) -> Duration {
        let doublings = match self.backoff {
            Backoff::Fixed => 0,
            Backoff::Exponential => failures.saturating_sub(1).clamp(0, 62),
        };
        let full = self.initial_ms.max(0).saturating_mul(1_i64 << doublings).min(self.max_ms);
        let share = self.jitter.clamp(0.0, 1.0) * random.clamp(0.0, 1.0);
        Duration::from_millis(full.max(0).unsigned_abs()).mul_f64(1.0 - share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(backoff: Backoff) -> Policy {
        Policy { max_attempts: 9, backoff, initial_ms: 1_000, max_ms: 60_000, jitter: 0.5 }
    }

    #[test]
    fn an_exponential_delay_doubles_up_to_its_ceiling() {
        let seconds: Vec<u64> =
            (1..=8).map(|n| policy(Backoff::Exponential).delay(n, 0.0).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn a_fixed_delay_stays() {
        assert_eq!(policy(Backoff::Fixed).delay(7, 0.0), Duration::from_secs(1));
    }

    #[test]
    fn jitter_takes_away_its_share_at_the_most() {
        assert_eq!(policy(Backoff::Fixed).delay(1, 1.0), Duration::from_millis(500));
    }

    #[test]
    fn no_number_of_failures_overflows() {
        assert_eq!(policy(Backoff::Exponential).delay(i32::MAX, 0.0), Duration::from_secs(60));
    }
}
