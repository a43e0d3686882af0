//! The places of a node. Each place holds one run, or one task of a run of several tasks.
//!
//! An origin or a schedule that wants another place gets it if it holds few places compared with
//! the number of free ones. A single holder may take the share of the capacity that
//! `node.max_share` sets; the more places are taken, the fewer each holder may have. So a target
//! that hangs cannot take up the places that others need, while a holder without competition gets
//! nearly all places of a node. In addition, a namespace has its quota of live runs, and where
//! several namespaces have schedules, it leaves the last places to those that hold fewer: otherwise many of its
//! targets could hang and together keep all others out.
//!
//! - `account`: counts how many places each holder has; no IO

mod account;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use tokio::sync::Notify;
use uuid::Uuid;

use self::account::PlaceAccount;
pub use self::account::{HeldBack, PlaceHolder};
use crate::clock::Clock;

/// The holders for which a run's place is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Claim {
    /// The target of the run's first task, if it is known before the run starts.
    pub(in crate::engine) origin: Option<Arc<str>>,
    /// The schedule, if the run has one.
    pub(in crate::engine) schedule: Option<Uuid>,
    /// The namespace of the run.
    pub(in crate::engine) namespace: Uuid,
}

impl Claim {
    fn holders(&self) -> impl Iterator<Item = PlaceHolder> {
        let origin = self.origin.clone().map(PlaceHolder::Origin);
        let schedule = self.schedule.map(PlaceHolder::Schedule);
        origin.into_iter().chain(schedule).chain([PlaceHolder::Namespace(self.namespace)])
    }
}

/// Why a run cannot get a place now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) enum NoPlace {
    /// All places are taken.
    Full,
    /// The holder has used up its share.
    Share(PlaceHolder),
}

/// All places of a node. Cheap to clone; clones share the places.
#[derive(Clone, Debug)]
pub struct Places {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    account: Mutex<PlaceAccount>,
    freed: Notify,
}

/// A place that is held until this value is dropped.
#[derive(Debug)]
pub(in crate::engine) struct HeldPlace {
    claim: Claim,
    places: Places,
}

/// The places that a search for waiting runs may fill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct FreePlaces {
    /// The number of free places.
    pub(in crate::engine) free: usize,
    /// Whether runs wait because their holder has used up its share.
    pub(in crate::engine) is_held_back: bool,
    /// Number of places open to holders whose runs waited for a share.
    pub(in crate::engine) of_held_back: usize,
    /// The holders that cannot take a place now.
    pub(in crate::engine) full: Vec<PlaceHolder>,
}

impl Places {
    /// Creates `capacity` places. One origin or schedule may hold at most `max_share` per cent of
    /// them. A namespace has the `usual` quota unless it has one of its own.
    pub(in crate::engine) fn new(capacity: usize, max_share: u32, usual: Option<i64>) -> Self {
        let mut account = PlaceAccount::new(capacity, max_share);
        account.set_quotas(usual, [], []);
        let account = Mutex::new(account);
        Self { inner: Arc::new(Inner { account, freed: Notify::new() }) }
    }

    /// Takes a place for the claim, if one is free and none of its holders has used up its share.
    pub(in crate::engine) fn take(
        &self,
        claim: &Claim,
        clock: &Clock,
    ) -> Result<HeldPlace, NoPlace> {
        self.account().take(claim.holders(), || clock.now())?;
        Ok(HeldPlace { claim: claim.clone(), places: self.clone() })
    }

    /// Waits until a place can be taken for the claim.
    pub(in crate::engine) async fn wait(&self, claim: &Claim, clock: &Clock) -> HeldPlace {
        loop {
            let freed = self.inner.freed.notified();
            if let Ok(place) = self.take(claim, clock) {
                return place;
            }
            freed.await;
        }
    }

    /// Since when runs have waited because all places are
    /// held; `None` if no run waits for that reason.
    pub fn full_since(&self) -> Option<DateTime<Utc>> {
        self.account().full_since()
    }

    /// Records that no run waits because all places are held.
    pub(in crate::engine) fn forget_full(&self) {
        self.account().forget_full();
    }

    /// The places that runs can take now.
    pub(in crate::engine) fn room(&self) -> FreePlaces {
        self.account().room()
    }

    /// Records that no runs wait for a share, except for those of the holders in `but`.
    pub(in crate::engine) fn forget_held_back(&self, but: &[PlaceHolder]) {
        self.account().forget_held_back(but);
    }

    /// Sets the namespaces' quotas of live runs: the default,
    /// the exceptions, and how many runs other nodes execute.
    pub(in crate::engine) fn set_quotas(
        &self,
        usual: Option<i64>,
        own: impl IntoIterator<Item = (Uuid, Option<i64>)>,
        elsewhere: impl IntoIterator<Item = (Uuid, i64)>,
    ) {
        self.account().set_quotas(usual, own, elsewhere);
        self.inner.freed.notify_waiters();
    }

    /// Sets whether several namespaces have schedules, so that each leaves the last places to others.
    pub(in crate::engine) fn set_shared(&self, is_shared: bool) {
        self.account().set_shared(is_shared);
    }

    /// Whether each namespace leaves the last places to others.
    pub fn are_shared(&self) -> bool {
        self.account().is_shared()
    }

    /// The number of places.
    pub fn capacity(&self) -> usize {
        self.account().capacity()
    }

    /// Number of places that are held.
    pub fn held(&self) -> usize {
        self.account().held()
    }

    /// The holders whose runs wait for a share, those with the most places first.
    pub fn held_back(&self) -> Vec<HeldBack> {
        self.account().held_back()
    }

    fn account(&self) -> MutexGuard<'_, PlaceAccount> {
        self.inner.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Places {
    fn default() -> Self {
        Self::new(0, 100, None)
    }
}

impl HeldPlace {
    /// The claim under which the place is counted.
    pub(in crate::engine) fn claim(&self) -> &Claim {
        &self.claim
    }
}

impl Drop for HeldPlace {
    fn drop(&mut self) {
        self.places.account().give_back(self.claim.holders());
        self.places.inner.freed.notify_waiters();
    }
}
