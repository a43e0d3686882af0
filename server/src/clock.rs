//! The only module that reads the time.
//!
//! Schedules use this clock. It is a value, not a trait, so that no generic parameter spreads
//! through the layers that use it. A node that has measured the offset of its wall clock corrects
//! this clock by that offset, so that all nodes fire by the same time. A manual clock stands still
//! until a test moves it. Moving it forward wakes the sleepers in the order of their instants, so
//! that a simulated week passes in a second and always in the same way.
//!
//! Leases and heartbeats do not use this clock: they compare times in SQL, by the database's clock.
//!
//! - `manual`: the clock of tests

mod manual;

use std::{
    fmt,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};

pub use self::manual::ManualClock;
use self::manual::Wait;

/// Reads the time, and waits for instants. Cheap to clone; clones share one time and one
/// correction.
#[derive(Clone)]
pub struct Clock {
    source: Source,
    /// How far the source is ahead of the time on which the nodes agree, in milliseconds.
    ahead: Arc<AtomicI64>,
}

/// The source of the time.
#[derive(Clone)]
enum Source {
    /// The machine's clock.
    System,
    /// A clock that only moves when a test moves it.
    Manual(ManualClock),
}

/// How often a sleep until an instant checks the wall clock, which may be stepped meanwhile.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// The error if the time limit passed before the future was ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("time limit passed")]
pub struct Elapsed;

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self::from(Source::System)
    }

    fn from(source: Source) -> Self {
        Self { source, ahead: Arc::default() }
    }

    /// The current time on which the nodes agree: the wall clock minus the measured offset. It is
    /// in whole milliseconds, because the tables store milliseconds.
    pub fn now(&self) -> DateTime<Utc> {
        self.wall() - self.correction()
    }

    /// The uncorrected wall clock, for comparing it with other clocks.
    pub fn wall(&self) -> DateTime<Utc> {
        match &self.source {
            #[expect(clippy::disallowed_methods, reason = "the one place that reads the time")]
            Source::System => Utc::now().trunc_subsecs(3),
            Source::Manual(clock) => clock.now(),
        }
    }

    /// How far [`Clock::now`] is behind the wall clock.
    pub fn correction(&self) -> TimeDelta {
        TimeDelta::milliseconds(self.ahead.load(Ordering::Relaxed))
    }

    /// Corrects this clock and its clones for a wall clock that is `ahead`.
    pub fn correct(&self, ahead: TimeDelta) {
        self.ahead.store(ahead.num_milliseconds(), Ordering::Relaxed);
    }

    /// Whether this is the machine's clock, which can be stepped from outside.
    pub fn is_system(&self) -> bool {
        matches!(self.source, Source::System)
    }

    /// A monotonic reading for measuring durations. On a manual clock, only [`ManualClock::pass`]
    /// moves it: setting the clock is a step, which does not affect durations.
    pub fn instant(&self) -> Instant {
        match &self.source {
            #[expect(clippy::disallowed_methods, reason = "the one place that reads the time")]
            Source::System => Instant::now(),
            Source::Manual(clock) => clock.instant(),
        }
    }

    /// Waits until the clock shows `at` or later.
    pub async fn sleep_until(&self, at: DateTime<Utc>) {
        match &self.source {
            Source::System => loop {
                // The wall clock may be stepped while this sleeps.
                let Ok(left) = (at - self.now()).to_std() else { return };
                if left.is_zero() {
                    return;
                }
                pause(left.min(LONGEST_NAP)).await;
            },
            Source::Manual(clock) => {
                let at = at.checked_add_signed(self.correction()).unwrap_or(at);
                clock.sleep(at, Wait::Until).await;
            }
        }
    }

    /// Waits until the clock shows `until`, but not longer than the time between `now` and `until`,
    /// so that stepping the clock back does not delay callers.
    pub async fn sleep_from(&self, now: DateTime<Utc>, until: DateTime<Utc>) {
        tokio::select! {
            () = self.sleep_until(until) => {}
            () = self.sleep((until - now).to_std().unwrap_or_default()) => {}
        }
    }

    /// Waits for `duration`, whatever the clock shows meanwhile.
    pub async fn sleep(&self, duration: Duration) {
        match &self.source {
            Source::System => pause(duration).await,
            Source::Manual(clock) => {
                let delta = TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX);
                let at = clock.now().checked_add_signed(delta).unwrap_or(DateTime::<Utc>::MAX_UTC);
                clock.sleep(at, Wait::For).await;
            }
        }
    }

    /// Waits for `future`, at most for `limit`.
    pub async fn timeout<F: Future>(
        &self,
        limit: Duration,
        future: F,
    ) -> Result<F::Output, Elapsed> {
        tokio::select! {
            biased;
            output = future => Ok(output),
            () = self.sleep(limit) => Err(Elapsed),
        }
    }
}

/// The end of a time span that several steps share: each step gets what is left of it.
#[derive(Clone)]
pub struct Deadline {
    passed: Shared<BoxFuture<'static, ()>>,
}

impl Clock {
    /// A deadline `span` from now.
    pub fn deadline(&self, span: Duration) -> Deadline {
        let clock = self.clone();
        let passed = async move { clock.sleep(span).await }.boxed().shared();
        // The time counts from the first poll.
        let _ = passed.clone().now_or_never();
        Deadline { passed }
    }
}

impl Deadline {
    /// Waits for `future`, at most until the deadline. A future that is ready when the deadline has
    /// passed still counts.
    pub async fn limit<F: Future>(&self, future: F) -> Result<F::Output, Elapsed> {
        tokio::select! {
            biased;
            output = future => Ok(output),
            () = self.passed.clone() => Err(Elapsed),
        }
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadline").field("passed", &self.passed.peek().is_some()).finish()
    }
}

async fn pause(duration: Duration) {
    #[expect(clippy::disallowed_methods, reason = "the one place that waits for time to pass")]
    tokio::time::sleep(duration).await;
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::System => f.write_str("Clock::System"),
            Source::Manual(clock) => write!(f, "Clock::Manual({})", clock.now()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    #[tokio::test]
    async fn moving_a_manual_clock_wakes_the_sleepers_in_the_order_of_their_instants() {
        let manual = ManualClock::new(at(0));
        let (woken, mut order) = tokio::sync::mpsc::unbounded_channel();
        for seconds in [30, 10, 20] {
            let (clock, woken) = (manual.clock(), woken.clone());
            tokio::spawn(async move {
                clock.sleep_until(at(seconds)).await;
                woken.send(seconds).unwrap();
            });
        }
        while manual.next_wake() != Some(at(10)) || manual.sleepers().len() < 3 {
            tokio::task::yield_now().await;
        }
        manual.set(at(25));
        assert_eq!(order.recv().await, Some(10));
        assert_eq!(order.recv().await, Some(20));
        assert_eq!(manual.next_wake(), Some(at(30)));
    }

    #[tokio::test]
    async fn a_stopped_manual_clock_keeps_its_sleepers_asleep() {
        let manual = ManualClock::new(at(100));
        let clock = manual.clock();
        let mut sleep = Box::pin(clock.sleep(Duration::from_secs(5)));
        assert!(futures::poll!(&mut sleep).is_pending());
        manual.set(at(50));
        assert!(futures::poll!(&mut sleep).is_pending());
        manual.set(at(105));
        sleep.await;
    }

    #[tokio::test]
    async fn a_corrected_clock_and_its_clones_wait_by_the_corrected_time() {
        let manual = ManualClock::new(at(104));
        let clock = manual.clock();
        let clone = clock.clone();
        clock.correct(TimeDelta::seconds(4));
        assert_eq!((clone.now(), clone.wall()), (at(100), at(104)));
        let mut sleep = Box::pin(clone.sleep_until(at(105)));
        assert!(futures::poll!(&mut sleep).is_pending());
        manual.set(at(108));
        assert!(futures::poll!(&mut sleep).is_pending());
        manual.set(at(109));
        sleep.await;
    }

    #[tokio::test]
    async fn the_steps_before_a_deadline_share_its_span() {
        let manual = ManualClock::new(at(100));
        let deadline = manual.clock().deadline(Duration::from_secs(5));
        let clock = manual.clock();
        let mut first = Box::pin(deadline.limit(clock.sleep(Duration::from_secs(4))));
        assert!(futures::poll!(&mut first).is_pending());
        manual.set(at(104));
        assert_eq!(first.await, Ok(()));
        let mut second = Box::pin(deadline.limit(std::future::pending::<()>()));
        assert!(futures::poll!(&mut second).is_pending());
        manual.set(at(105));
        assert_eq!(second.await, Err(Elapsed));
        assert_eq!(deadline.limit(std::future::ready(1)).await, Ok(1));
    }

    #[tokio::test]
    async fn a_clock_that_is_stepped_back_delays_no_duration() {
        let manual = ManualClock::new(at(100));
        let clock = manual.clock();
        let mut until = Box::pin(clock.sleep_until(at(105)));
        let mut either = Box::pin(clock.sleep_from(at(100), at(105)));
        assert!(futures::poll!(&mut until).is_pending());
        assert!(futures::poll!(&mut either).is_pending());
        manual.set(at(50));
        assert_eq!(manual.next_wake(), Some(at(55)));
        assert!(futures::poll!(&mut either).is_pending());
        manual.set(at(55));
        either.await;
        assert!(futures::poll!(&mut until).is_pending());
        manual.set(at(105));
        until.await;
    }
}
