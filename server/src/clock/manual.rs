//! The clock of tests.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use tokio::sync::oneshot;

use super::{Clock, Source};

/// A clock that only moves when a test moves it, forward or backward.
#[derive(Clone)]
pub struct ManualClock {
    state: Arc<Mutex<ManualState>>,
}

struct ManualState {
    now: DateTime<Utc>,
    instant: Instant,
    /// Sleepers by the instant for which they wait; the number distinguishes those with the same
    /// instant.
    sleepers: BTreeMap<(DateTime<Utc>, u64), (Wait, oneshot::Sender<()>)>,
    next_sleeper: u64,
}

/// The kind of wait of a sleeper on a manual clock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Until the clock shows an instant.
    Until,
    /// Until a duration has passed. If the clock is stepped back meanwhile, it shows an earlier
    /// time at the end.
    For,
}

impl ManualClock {
    /// A clock that shows `now`.
    pub fn new(now: DateTime<Utc>) -> Self {
        let now = now.trunc_subsecs(3);
        let instant = Clock::system().instant();
        let state = ManualState { now, instant, sleepers: BTreeMap::new(), next_sleeper: 0 };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// The handle for the code under test.
    pub fn clock(&self) -> Clock {
        Clock::from(Source::Manual(self.clone()))
    }

    /// The time that the clock shows.
    pub fn now(&self) -> DateTime<Utc> {
        self.locked().now
    }

    /// Sets the clock and wakes the sleepers whose instant has come. A later time means that time
    /// passes. An earlier time means that the clock is stepped back: sleepers that wait for a
    /// duration still wait for the rest of it.
    pub fn set(&self, now: DateTime<Utc>) {
        let mut state = self.locked();
        let back = state.now - now.trunc_subsecs(3);
        state.now = now.trunc_subsecs(3);
        if back > TimeDelta::zero() {
            let sleepers = std::mem::take(&mut state.sleepers).into_iter();
            let stepped = sleepers.map(|((at, number), sleeper)| match sleeper.0 {
                Wait::Until => ((at, number), sleeper),
                Wait::For => ((at - back, number), sleeper),
            });
            state.sleepers = stepped.collect();
        }
        while let Some(entry) = state.sleepers.first_entry() {
            if entry.key().0 > now {
                break;
            }
            // The sleeper may have been dropped meanwhile.
            let _ = entry.remove().1.send(());
        }
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        let now = self.now();
        self.set(now + TimeDelta::from_std(by).unwrap_or(TimeDelta::zero()));
    }

    /// Lets time pass, both for the clock and for durations.
    pub fn pass(&self, by: Duration) {
        self.locked().instant += by;
        self.advance(by);
    }

    /// The sleepers, by the unique number of each.
    pub fn sleepers(&self) -> Vec<u64> {
        let mut state = self.locked();
        state.sleepers.retain(|_, (_, waker)| !waker.is_closed());
        state.sleepers.keys().map(|(_, number)| *number).collect()
    }

    pub(super) fn instant(&self) -> Instant {
        self.locked().instant
    }

    /// The earliest instant for which a sleeper waits.
    pub fn next_wake(&self) -> Option<DateTime<Utc>> {
        let mut state = self.locked();
        state.sleepers.retain(|_, (_, waker)| !waker.is_closed());
        state.sleepers.first_key_value().map(|((at, _), _)| *at)
    }

    pub(super) async fn sleep(&self, at: DateTime<Utc>, wait: Wait) {
        let woken = {
            let mut state = self.locked();
            if state.now >= at {
                return;
            }
            let (waker, woken) = oneshot::channel();
            let number = state.next_sleeper;
            state.next_sleeper += 1;
            state.sleepers.insert((at, number), (wait, waker));
            woken
        };
        // The sender is only dropped with the clock itself. Then the time can no longer move.
        if woken.await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    fn locked(&self) -> MutexGuard<'_, ManualState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
