//! Claims due schedules, except those whose fires the database refuses.
//! If the fires of one schedule violate a constraint, or a trigger rejects them,
//! every claim that includes this schedule would fail, on every node and for ever.
//! So bisection isolates the schedule, and it is quarantined for a while.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};

use super::{
    calendars::claim_locked,
    claim::ClaimResults,
    lock::{lock_due, lock_these},
    quarantine::Quarantine,
};
use crate::{
    engine::{
        EngineError,
        cluster::ClaimTurns,
        core::{Bisect, Core},
    },
    store::candidates::Candidate,
};

/// Claims schedules, and leaves out the quarantined ones.
#[derive(Debug, Default)]
pub(super) struct Claimer {
    quarantine: Mutex<Quarantine>,
}

impl Claimer {
    /// The quarantined schedules, each with the cursor at which it was refused.
    pub(super) fn quarantined(&self) -> Vec<Candidate> {
        self.locked().all()
    }

    /// The time until the first quarantined schedule may be tried again.
    pub(super) fn next_try(&self, now: Instant) -> Option<Duration> {
        self.locked().next_try(now)
    }

    /// Claims a batch of the due schedules that this node may claim.
    pub(super) async fn claim_due(
        &self,
        core: &Core,
        now: DateTime<Utc>,
        share: Option<&ClaimTurns>,
    ) -> Result<ClaimResults, EngineError> {
        let Some(batch) = lock_due(core, now, share, &self.quarantined()).await? else {
            return Ok(ClaimResults::default());
        };
        let candidates = batch.candidates();
        match claim_locked(core, now, batch).await {
            Err(error) if error.is_refusal() => self.claim_by_halves(core, now, &candidates).await,
            // Others have locked all of them meanwhile. Those that are due later were not examined.
            answer => {
                Ok(answer?.unwrap_or(ClaimResults { more_is_due: true, ..ClaimResults::default() }))
            }
        }
    }

    /// Tries schedules whose quarantine has ended again, one by one.
    pub(super) async fn try_again(
        &self,
        core: &Core,
        now: DateTime<Utc>,
    ) -> Result<ClaimResults, EngineError> {
        let over = self.locked().to_try(core.clock.instant());
        let mut claimed = ClaimResults::default();
        if over.is_empty() {
            return Ok(claimed);
        }
        let due = core.store.due_of(now.into(), &over).await?;
        // The other quarantined schedules are no longer due, because an edit has changed them.
        for schedule in over.iter().filter(|id| due.iter().all(|due| due.id != **id)) {
            self.locked().take_back(*schedule);
        }
        for one in &due {
            let tried = self.claim_by_halves(core, now, std::slice::from_ref(one)).await?;
            if tried.schedules > 0 {
                tracing::info!(schedule_id = %one.id, "a schedule's due fires are claimed again");
            }
            if tried.refused == 0 {
                self.locked().take_back(one.id);
            }
            claimed += tried;
        }
        self.tell(core);
        Ok(claimed)
    }

    /// Claims as many candidates as possible, and quarantines those that the database refuses
    /// even alone. If an error ends this early, the fires claimed so far are handed over
    /// later, as after a commit whose answer was lost.
    async fn claim_by_halves(
        &self,
        core: &Core,
        now: DateTime<Utc>,
        candidates: &[Candidate],
    ) -> Result<ClaimResults, EngineError> {
        let mut claimed = ClaimResults::default();
        let mut parts = Bisect::new(std::iter::once(0..candidates.len()));
        while let Some(part) = parts.pop() {
            let batch = lock_these(core, now, &candidates[part.clone()], false).await?;
            let Some(batch) = batch else {
                // Another transaction has locked the schedule, so it must be looked at again.
                claimed.more_is_due = true;
                continue;
            };
            match claim_locked(core, now, batch).await {
                Ok(Some(some)) => claimed += some,
                Ok(None) => claimed.more_is_due = true,
                Err(error) if error.is_refusal() => {
                    let Err(alone) = parts.split(part) else { continue };
                    let one = candidates[alone];
                    let Some(pause) = self.locked().put(one, core.clock.instant()) else {
                        return Err(error);
                    };
                    tracing::error!(
                        schedule_id = %one.id,
                        tried_again_in = ?pause,
                        %error,
                        "failed to claim a schedule's due fires"
                    );
                    claimed.refused += 1;
                    // Schedules that are due later than these were not examined.
                    claimed.more_is_due = true;
                }
                Err(error) => return Err(error),
            }
        }
        self.tell(core);
        Ok(claimed)
    }

    fn tell(&self, core: &Core) {
        core.cluster.note_refused(self.quarantined().iter().map(|one| one.id).collect());
    }

    fn locked(&self) -> MutexGuard<'_, Quarantine> {
        self.quarantine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
