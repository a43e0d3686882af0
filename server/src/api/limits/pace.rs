//! Makes a slow answer yield to other tasks.
//!
//! Only elapsed time decides when to yield. The loaders collect the keys of one turn, so an answer
//! that is built in one turn costs one statement per loader, and each further turn costs them
//! again.

use std::{
    pin::pin,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::clock::Clock;

/// The longest turn. A page of a list takes a small part of it.
const MAX_TURN: Duration = Duration::from_millis(10);

/// The current turn of one execution.
#[derive(Debug, Default)]
pub(super) struct TurnPace(Mutex<Option<Instant>>);

impl TurnPace {
    /// Executes, and records when each turn begins.
    pub(super) async fn follow<T>(
        &self,
        clock: Option<&Clock>,
        executed: impl Future<Output = T>,
    ) -> T {
        let mut executed = pin!(executed);
        std::future::poll_fn(|cx| {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = clock.map(Clock::instant);
            executed.as_mut().poll(cx)
        })
        .await
    }

    /// Yields until there is a turn with time left. The values of a list are built concurrently,
    /// and a turn ends when all of them wait, so each one checks the time. In each turn, only as
    /// many values begin as there is time for, because a value that has begun and waits takes far
    /// more memory than one that has not begun or is complete.
    pub(super) async fn rest(&self, clock: Option<&Clock>) {
        while clock.is_some_and(|clock| self.is_over(clock)) {
            tokio::task::yield_now().await;
        }
    }

    fn is_over(&self, clock: &Clock) -> bool {
        let began = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        began.is_some_and(|began| clock.instant().saturating_duration_since(began) > MAX_TURN)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;
    use crate::clock::ManualClock;

    /// How many of five values are built before another task first runs, if each takes this long.
    async fn made_in_a_turn(each: Duration) -> usize {
        let manual = ManualClock::new(chrono::DateTime::UNIX_EPOCH);
        let (clock, pace, made) = (manual.clock(), TurnPace::default(), AtomicUsize::new(0));
        let value = || async {
            pace.rest(Some(&clock)).await;
            manual.pass(each);
            made.fetch_add(1, Relaxed);
        };
        let values = futures::future::join_all((0..5).map(|_| value()));
        let other = async { made.load(Relaxed) };
        let (_, seen) = tokio::join!(biased; pace.follow(Some(&clock), values), other);
        assert_eq!(made.load(Relaxed), 5);
        seen
    }

    #[tokio::test]
    async fn a_short_answer_is_made_in_one_turn_and_a_long_one_is_not() {
        assert_eq!(made_in_a_turn(Duration::from_millis(1)).await, 5);
        assert_eq!(made_in_a_turn(Duration::from_millis(6)).await, 2);
    }

    #[tokio::test]
    async fn values_that_wait_do_not_all_begin_in_the_next_turn() {
        let manual = ManualClock::new(chrono::DateTime::UNIX_EPOCH);
        let (clock, pace) = (manual.clock(), TurnPace::default());
        let (begun, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        // Each value has parts, which are built concurrently as well.
        let part = || async {
            pace.rest(Some(&clock)).await;
            manual.pass(Duration::from_millis(6));
        };
        let value = || async {
            pace.rest(Some(&clock)).await;
            most.fetch_max(begun.fetch_add(1, Relaxed) + 1, Relaxed);
            futures::future::join_all((0..5).map(|_| part())).await;
            begun.fetch_sub(1, Relaxed);
        };
        let values = futures::future::join_all((0..20).map(|_| value()));
        pace.follow(Some(&clock), values).await;
        assert!(most.load(Relaxed) <= 3, "{most:?} of 20 had begun at once");
    }
}
