//! This node's attempts: those that are about to start, those in progress,
//! and those that have ended but are not settled yet.
//!
//! An attempt that moves from one set to the next is briefly in both, never in neither. So if the
//! tables assign an attempt to this node and no set contains it, this node will never work on it.

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

/// All attempts that this node knows.
#[derive(Debug, Default)]
pub(in crate::engine) struct AttemptRegistry {
    /// Attempts that are being assigned to this node and have not started yet.
    pub(in crate::engine) starting: StartingAttempts,
    at_work: Mutex<HashMap<Uuid, AtWork>>,
    /// The serial number of the next [`AttemptHandle`] that is created.
    serials: AtomicU64,
    /// Attempts that have ended but are not settled yet.
    settling: Mutex<HashMap<Uuid, RunLease>>,
}

/// An attempt in progress on this node.
#[derive(Debug, Clone)]
struct AtWork {
    hold: RunLease,
    /// The serial number of the attempt's [`AttemptHandle`].
    serial: u64,
    stop: CancellationToken,
    why: Option<StopReason>,
    /// When the attempt will have exceeded every time limit, on the monotonic clock; `None` if the
    /// attempt enforces its limits itself.
    outlives: Option<Instant>,
}

/// An attempt's reference to its hold on a run. The serial number tells apart two attempts with the
/// same hold, which can occur when a fail-over loses the first one.
#[derive(Debug, Clone)]
pub(in crate::engine) struct AttemptHandle {
    pub(in crate::engine) hold: RunLease,
    pub(in crate::engine) stop: CancellationToken,
    serial: u64,
}

/// The tables have assigned the same run to this node again,
/// so the outcome of this attempt is discarded.
#[derive(Debug)]
pub(in crate::engine) struct AttemptReplaced;

/// Why an attempt is stopped before it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum StopReason {
    /// A user or a service requested the stop.
    Cancelled,
    /// The node is shutting down, and another node may continue the run.
    Released,
    /// Another node holds the run now, so this node must write nothing more about it.
    Lost,
}

impl AttemptRegistry {
    /// Registers an attempt that begins.
    /// After `limit` it counts as stuck. Calls `show` with the new number of attempts in progress.
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
            // The node lost the run and took it again.
            // Nothing after this call could stop the earlier attempt.
            earlier.stop.cancel();
        }
        show(at_work.len());
        AttemptHandle { hold, stop, serial }
    }

    /// Records that an attempt's work has ended; it still has to be settled.
    /// Returns why the attempt was stopped, if it was.
    pub(super) fn end(
        &self,
        grip: &AttemptHandle,
        show: impl FnOnce(usize),
    ) -> Result<Option<StopReason>, AttemptReplaced> {
        let mut at_work = lock(&self.at_work);
        let Entry::Occupied(entry) = at_work.entry(grip.hold.run_id) else {
            return Err(AttemptReplaced);
        };
        if entry.get().serial != grip.serial {
            return Err(AttemptReplaced);
        }
        lock(&self.settling).insert(grip.hold.run_id, grip.hold);
        let why = entry.remove().why;
        show(at_work.len());
        Ok(why)
    }

    /// Why an attempt must stop, if it must; `Lost` if this node is not working on it.
    pub(in crate::engine) fn why(&self, grip: &AttemptHandle) -> Option<StopReason> {
        let at_work = lock(&self.at_work);
        match at_work.get(&grip.hold.run_id).filter(|now| now.serial == grip.serial) {
            Some(entry) => entry.why,
            None => Some(StopReason::Lost),
        }
    }

    /// Removes an attempt that is settled, or that never will be.
    pub(in crate::engine) fn forget(&self, hold: &RunLease) {
        let mut settling = lock(&self.settling);
        if settling.get(&hold.run_id) == Some(hold) {
            settling.remove(&hold.run_id);
        }
    }

    /// Whether this node is working on an attempt, or is about to start or settle it.
    pub(in crate::engine) fn knows(&self, hold: &RunLease) -> bool {
        // The order matters: an attempt that moves from one set to the
        // next is briefly in both, never in neither.
        self.starting.has(hold)
            || lock(&self.at_work).get(&hold.run_id).is_some_and(|entry| entry.hold == *hold)
            || lock(&self.settling).get(&hold.run_id) == Some(hold)
    }

    /// Stops the attempts whose hold matches `which`.
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

    /// The attempts of this node that have exceeded every time limit at `now`.
    pub(super) fn outlived(&self, now: Instant) -> HashSet<RunLease> {
        let has_outlived = |entry: &&AtWork| {
            entry.why != Some(StopReason::Lost) && entry.outlives.is_some_and(|at| now >= at)
        };
        lock(&self.at_work).values().filter(has_outlived).map(|entry| entry.hold).collect()
    }

    /// Number of attempts in progress on this node.
    pub(in crate::engine) fn count(&self) -> usize {
        lock(&self.at_work).len()
    }

    /// The holds of the attempts that this node believes to be in progress.
    pub(in crate::engine) fn holds(&self) -> Vec<RunLease> {
        lock(&self.at_work).values().map(|entry| entry.hold).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
