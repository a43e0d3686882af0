//! Caches answers for a short time: callers that ask again within that time get the cached answer.

use std::{
    hash::Hash,
    time::{Duration, Instant},
};

use crate::{clock::Clock, single_flight::SingleFlight};

/// Answers by question. One caller at a time computes the answer to a question, and callers that
/// arrive meanwhile get its answer; different questions never wait for each other.
pub(super) struct AnswerCache<K, V> {
    moment: Duration,
    slots: SingleFlight<K, (Instant, V)>,
}

impl<K: Eq + Hash + Clone, V: Clone> AnswerCache<K, V> {
    pub(super) fn new(moment: Duration) -> Self {
        Self { moment, slots: SingleFlight::new(0) }
    }

    /// How long an answer stays valid.
    pub(super) fn moment(&self) -> Duration {
        self.moment
    }

    /// The cached answer if it is still valid, otherwise the result of `ask`. An error is not
    /// cached.
    pub(super) async fn answer<E>(
        &self,
        clock: &Clock,
        key: K,
        ask: impl Future<Output = Result<V, E>>,
    ) -> Result<V, E> {
        let slot = self.slots.slot(&key, |(at, _)| self.is_good(clock, *at));
        let mut answer = slot.lock().await;
        if let Some((at, answer)) = &*answer
            && self.is_good(clock, *at)
        {
            return Ok(answer.clone());
        }
        let found = ask.await?;
        // Valid from now on, however long it took, so that the callers that waited do not ask
        // again.
        *answer = Some((clock.instant(), found.clone()));
        Ok(found)
    }

    fn is_good(&self, clock: &Clock, at: Instant) -> bool {
        clock.instant().saturating_duration_since(at) < self.moment
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, future};

    use chrono::DateTime;

    use super::*;
    use crate::clock::ManualClock;

    #[tokio::test]
    async fn a_slow_query_delays_no_other_and_its_answer_is_valid_from_its_end() {
        let manual = ManualClock::new(DateTime::UNIX_EPOCH);
        let clock = manual.clock();
        let answers = AnswerCache::new(Duration::from_secs(10));
        let (answered, answer) = tokio::sync::oneshot::channel();
        let slow =
            answers.answer(&clock, "slow", async { Ok::<_, Infallible>(answer.await.unwrap()) });
        let others = async {
            let quick = answers.answer(&clock, "quick", future::ready(Ok::<_, Infallible>(2)));
            assert_eq!(quick.await, Ok(2));
            manual.pass(Duration::from_secs(30));
            answered.send(1).unwrap();
            // It comes after the first caller, and gets the same answer.
            let waits = answers.answer(&clock, "slow", future::ready(Ok::<_, Infallible>(3)));
            assert_eq!(waits.await, Ok(1));
        };
        let (slow, ()) = tokio::join!(slow, others);
        assert_eq!(slow, Ok(1));
        manual.pass(Duration::from_secs(9));
        let kept = answers.answer(&clock, "slow", future::ready(Ok::<_, Infallible>(4)));
        assert_eq!(kept.await, Ok(1));
        manual.pass(Duration::from_secs(1));
        let asked = answers.answer(&clock, "slow", future::ready(Ok::<_, Infallible>(5)));
        assert_eq!(asked.await, Ok(5));
    }
}
