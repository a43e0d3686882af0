//! The attempts of this node: about to start, at work, or ended and not settled yet.
//!
//! An attempt goes from one to the next, is in both for a moment, and never in none. So whoever has
//! read the tables and finds an attempt in none of them may be sure that nobody will ever work on it.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::starting::StartingAttempts;
use crate::store::holds::RunLease;

/// What this node knows of its attempts.
#[derive(Debug, Default)]
pub(in crate::engine) struct AttemptRegistry {
    /// Attempts that are being given to this node.
    pub(in crate::engine) starting: StartingAttempts,
    at_work: Mutex<HashMap<Uuid, AtWork>>,
    /// The next [`AttemptHandle`]'s.
    serials: AtomicU64,
    /// Attempts that have ended and are not settled yet.
    settling: Mutex<HashMap<Uuid, RunLease>>,
}

/// An attempt that this node works on.
#[derive(Debug, Clone)]
struct AtWork {
    hold: RunLease,
    /// The [`AttemptHandle`] on it.
    serial: u64,
    stop: CancellationToken,
    why: Option<StopReason>,
    /// When it has outlived every limit, on the monotonic clock; none if it sees to that itself.
    outlives: Option<Instant>,
}

/// What an attempt keeps of its hold: two that were given the same one, as after a fail-over that
/// lost the first, are told apart by it.
#[derive(Debug, Clone)]
pub(in crate::engine) struct AttemptHandle {
    pub(in crate::engine) hold: RunLease,
    pub(in crate::engine) stop: CancellationToken,
    serial: u64,
}

/// The same run was given to this node again meanwhile: what came of this attempt is nobody's.
#[derive(Debug)]
pub(in crate::engine) struct Replaced;

/// Why an attempt is stopped from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum StopReason {
    /// Somebody asked for it.
    Cancelled,
    /// The node shuts down: another may go on with the run.
    Released,
    /// The hold is another's: nothing may be written any more.
    Lost,
}

impl AttemptRegistry {
    /// Remembers an attempt that begins and when it counts as stuck. `show` is told how many are at
    /// work then.
    pub(super) fn start(
        &self,
        hold: RunLease,
        outlives: Option<Instant>,
        show: impl FnOnce(usize),
    ) -> AttemptHandle {
        let (stop, serial) =
            (CancellationToken::new(), self.serials.fetch_add(1, Ordering::Relaxed));
        let mut at_work = lock(&self.at_work);
        let entry = AtWork { hold, serial, stop: stop.clone(), why: None, outlives };
        if let Some(earlier) = at_work.insert(hold.run_id, entry) {
            // The node has lost that hold, and taken the run again: nobody else can stop it now.
            earlier.stop.cancel();
        }
        show(at_work.len());
        AttemptHandle { hold, stop, serial }
    }

    /// Works on an attempt no longer; says why it was stopped, if it was. It is to be settled.
    pub(super) fn end(
        &self,
        grip: &AttemptHandle,
        show: impl FnOnce(usize),
    ) -> Result<Option<StopReason>, Replaced> {
        let mut at_work = lock(&self.at_work);
        let Entry::Occupied(entry) = at_work.entry(grip.hold.run_id) else { return Err(Replaced) };
        if entry.get().serial != grip.serial {
            return Err(Replaced);
        }
        lock(&self.settling).insert(grip.hold.run_id, grip.hold);
        let why = entry.remove().why;
        show(at_work.len());
        Ok(why)
    }

    /// Why an attempt that this node works on is to stop, if it is; `Lost` for one that it does
    /// not work on.
    pub(in crate::engine) fn why(&self, grip: &AttemptHandle) -> Option<StopReason> {
        let at_work = lock(&self.at_work);
        match at_work.get(&grip.hold.run_id).filter(|now| now.serial == grip.serial) {
            Some(entry) => entry.why,
            None => Some(StopReason::Lost),
        }
    }

    /// Forgets an attempt that is settled, or never will be.
    pub(in crate::engine) fn forget(&self, hold: &RunLease) {
        let mut settling = lock(&self.settling);
        if settling.get(&hold.run_id) == Some(hold) {
            settling.remove(&hold.run_id);
        }
    }

    /// Whether this node works on an attempt, or is about to begin or to settle it.
    pub(in crate::engine) fn knows(&self, hold: &RunLease) -> bool {
        // In this order: an attempt that goes from one to the next is in both for a moment, never
        // in none.
        self.starting.has(hold)
            || lock(&self.at_work).get(&hold.run_id).is_some_and(|entry| entry.hold == *hold)
            || lock(&self.settling).get(&hold.run_id) == Some(hold)
    }

    /// Stops the attempts that `which` selects.
    pub(in crate::engine) fn stop(
        &self,
        why: StopReason,
        which: impl Fn(&RunLease) -> bool,
    ) -> usize {
        let mut at_work = lock(&self.at_work);
        let mut stopped = 0;
        for entry in at_work.values_mut().filter(|entry| which(&entry.hold)) {
            entry.why.get_or_insert(why);
            entry.stop.cancel();
            stopped += 1;
        }
        stopped
    }

    /// The attempts that have outlived every limit at `now` and are still this node's own.
    pub(super) fn outlived(&self, now: Instant) -> HashSet<RunLease> {
        let has_outlived = |entry: &&AtWork| {
            entry.why != Some(StopReason::Lost) && entry.outlives.is_some_and(|at| now >= at)
        };
        lock(&self.at_work).values().filter(has_outlived).map(|entry| entry.hold).collect()
    }

    /// How many attempts this node works on.
    pub(in crate::engine) fn count(&self) -> usize {
        lock(&self.at_work).len()
    }

    /// What this node works on, as far as it knows.
    pub(in crate::engine) fn holds(&self) -> Vec<RunLease> {
        lock(&self.at_work).values().map(|entry| entry.hold).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
