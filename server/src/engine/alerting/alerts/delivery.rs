//! How the delivery of one message goes on: what an attempt came to, who has received the message,
//! and when to try again. No IO.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use entity::{Timestamp, notification::Model};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::vault::VaultError;

/// The pause between the first two attempts, and the longest pause.
const FIRST_PAUSE: f64 = 20.0;
const LONGEST_PAUSE: f64 = 1_800.0;

/// The outcome of an attempt to send a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeliveryFate {
    Arrived,
    /// The attempt reached some recipients, and another may reach the others.
    /// It does not count towards the maximum number of attempts.
    Partly,
    /// Another attempt may succeed. The channel's other messages need not wait for it.
    Delayed,
    /// Another attempt may succeed, but until then the channel's other messages would also fail.
    Failed,
    /// No further attempt will succeed.
    Refused,
    /// No attempt was made, because no key of this node decrypts the channel or because a secret in
    /// it does not exist. The message waits until an attempt is possible.
    Locked,
}

/// The outcome of a finished attempt, and its error.
#[derive(Debug)]
pub(super) struct DeliveryAttempt {
    pub(super) fate: DeliveryFate,
    pub(super) error: Option<String>,
    pub(super) progress: Option<Value>,
}

impl DeliveryAttempt {
    pub(super) fn failed(error: String) -> Self {
        Self { fate: DeliveryFate::Failed, error: Some(error), progress: None }
    }

    pub(super) fn refused(error: &str) -> Self {
        Self { fate: DeliveryFate::Refused, error: Some(error.to_owned()), progress: None }
    }

    pub(super) fn locked(error: &VaultError) -> Self {
        Self {
            fate: DeliveryFate::Locked,
            error: Some(format!("failed to {error}")),
            progress: None,
        }
    }
}

/// Why a request was not accepted, and what that means for the message.
#[derive(Debug)]
pub(super) struct RequestFailure {
    pub(super) fate: DeliveryFate,
    pub(super) text: String,
}

impl RequestFailure {
    /// A failure that the channel's other messages would also meet.
    pub(super) fn new(text: String) -> Self {
        Self { fate: DeliveryFate::Failed, text }
    }

    /// The receiver answered with this HTTP status, if it answered at all. Some of them refuse only
    /// this message, for its form or its size.
    pub(super) fn answered(text: String, status: Option<u64>) -> Self {
        let fate = match status {
            Some(400 | 413 | 422) => DeliveryFate::Delayed,
            Some(_) | None => DeliveryFate::Failed,
        };
        Self { fate, text }
    }
}

/// How much of a message has been delivered. A mail is sent to each recipient separately, and a
/// message to an incident service consists of several requests.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct DeliveryProgress {
    pub(super) delivered: Vec<String>,
    /// The reason for each refused address. `outbox::revive` clears this field, so a message that
    /// is sent again also goes to these addresses.
    pub(super) refused: BTreeMap<String, String>,
    /// Number of the message's first requests that the receiver has accepted.
    requests: usize,
    /// The positions of the requests that it has accepted after one that it refuses.
    later_requests: BTreeSet<usize>,
    /// When the message was sent again after it had been given up; set by `outbox::revive`.
    revived_at: Option<Timestamp>,
}

impl DeliveryProgress {
    pub(super) fn of(message: &Model) -> Self {
        let progress = message.progress.clone().map(serde_json::from_value);
        progress.and_then(Result::ok).unwrap_or_default()
    }

    /// Since when the message is to be sent.
    pub(super) fn since(message: &Model) -> Timestamp {
        Self::of(message).revived_at.unwrap_or(message.created_at)
    }

    /// Number of the message's requests that the receiver has accepted.
    pub(super) fn accepted_requests(&self) -> usize {
        self.requests + self.later_requests.len()
    }

    /// Whether the receiver has accepted the request at this position.
    pub(super) fn has_request(&self, position: usize) -> bool {
        position < self.requests || self.later_requests.contains(&position)
    }

    /// Notes that the receiver has accepted the request at this position.
    pub(super) fn accept_request(&mut self, position: usize) {
        self.later_requests.insert(position);
        while self.later_requests.remove(&self.requests) {
            self.requests += 1;
        }
    }

    /// The recipients who have not received the message yet. Each attempt starts with a different
    /// recipient, so that a slow one does not always delay the same others.
    pub(super) fn waiting<'a>(&self, to: &'a [String], attempts: i32) -> Vec<&'a String> {
        let is_done = |address: &&String| {
            self.refused.contains_key(*address) || self.delivered.contains(*address)
        };
        let mut waiting: Vec<&String> = to.iter().filter(|to| !is_done(to)).collect();
        let turn = usize::try_from(attempts.saturating_sub(1)).unwrap_or(0);
        let turn = turn.checked_rem(waiting.len()).unwrap_or(0);
        waiting.rotate_left(turn);
        waiting
    }
}

/// The pause after a number of attempts. It doubles each time, and is randomised so that messages
/// that failed together are not sent again together.
pub(super) fn pause(attempts: i32, chance: f64) -> TimeDelta {
    let seconds = FIRST_PAUSE * 2.0_f64.powi(attempts.saturating_sub(1).clamp(0, 16));
    let seconds = seconds.min(LONGEST_PAUSE) * (0.75 + chance / 2.0);
    TimeDelta::milliseconds((seconds * 1_000.0) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attempt_at_a_mail_begins_with_a_different_waiting_recipient() {
        let to = ["a", "b", "c", "d"].map(str::to_owned);
        let mut progress = DeliveryProgress::default();
        progress.delivered.push("b".to_owned());
        let firsts = (1..=4).map(|attempt| progress.waiting(&to, attempt)[0].as_str());
        assert_eq!(firsts.collect::<Vec<_>>(), ["a", "c", "d", "a"]);
        progress.delivered = to.to_vec();
        assert!(progress.waiting(&to, 3).is_empty());
    }

    #[test]
    fn requests_may_be_accepted_after_one_that_is_refused() {
        let mut progress = DeliveryProgress::default();
        for position in [0, 2, 3] {
            progress.accept_request(position);
        }
        let has = |progress: &DeliveryProgress| [0, 1, 2, 3, 4].map(|at| progress.has_request(at));
        assert_eq!(has(&progress), [true, false, true, true, false]);
        assert_eq!((progress.requests, progress.accepted_requests()), (1, 3));
        progress.accept_request(1);
        assert_eq!(has(&progress), [true, true, true, true, false]);
        assert_eq!((progress.requests, progress.accepted_requests()), (4, 4));
    }

    #[test]
    fn attempts_are_ever_further_apart() {
        let seconds: Vec<i64> = (1..=9).map(|n| pause(n, 0.5).num_seconds()).collect();
        assert_eq!(seconds, [20, 40, 80, 160, 320, 640, 1280, 1800, 1800]);
        assert_eq!((pause(1, 0.0).num_seconds(), pause(1, 1.0).num_seconds()), (15, 25));
    }
}
