//! The places of a node: each holds one run, or one task of a run of several.
//!
//! An origin or a schedule that wants another place gets it if it holds few in comparison with those
//! that are free then. One that is alone may hold the share of the capacity that `node.max_share`
//! names; the more are taken, the less each may hold. So a target that hangs never holds the places
//! that the others need, and a node whose places only one of them wants gives it nearly all.
//! A namespace has its quota of live runs beside that.
//!
//! - `account`: who holds how many places; pure

mod account;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};
use tokio::sync::Notify;
use uuid::Uuid;

use self::account::Account;
pub use self::account::{HeldBack, Holder};
use crate::clock::Clock;

/// Whose place it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Claim {
    /// Where the run's first task goes, if that is known before the run.
    pub(in crate::engine) origin: Option<Arc<str>>,
    /// The schedule, if one was involved.
    pub(in crate::engine) schedule: Option<Uuid>,
    /// The tenant.
    pub(in crate::engine) namespace: Uuid,
}

impl Claim {
    fn holders(&self) -> impl Iterator<Item = Holder> {
        let origin = self.origin.clone().map(Holder::Origin);
        let schedule = self.schedule.map(Holder::Schedule);
        origin.into_iter().chain(schedule).chain([Holder::Namespace(self.namespace)])
    }
}

/// Why a run gets no place now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) enum NoPlace {
    /// All are taken.
    Full,
    /// The holder has its share.
    Share(Holder),
}

/// All places of a node. Cheap to clone; clones share them.
#[derive(Clone, Debug)]
pub struct Places {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    account: Mutex<Account>,
    freed: Notify,
}

/// A place that is held until it is dropped.
#[derive(Debug)]
pub(in crate::engine) struct HeldPlace {
    claim: Claim,
    places: Places,
}

/// What a look for waiting runs may ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct Room {
    /// Places that are free.
    pub(in crate::engine) free: usize,
    /// Whether runs of some holder wait for its share.
    pub(in crate::engine) is_held_back: bool,
    /// How many places those holders may take that have room again.
    pub(in crate::engine) of_held_back: usize,
    /// Those holders that have none.
    pub(in crate::engine) full: Vec<Holder>,
}

impl Places {
    /// So many, of which one origin or schedule may hold `max_share` percent, and a namespace the
    /// usual quota.
    pub(in crate::engine) fn new(capacity: usize, max_share: u32, usual: Option<i64>) -> Self {
        let mut account = Account::new(capacity, max_share);
        account.set_quotas(usual, [], []);
        let account = Mutex::new(account);
        Self { inner: Arc::new(Inner { account, freed: Notify::new() }) }
    }

    /// A place for the claim, if there is one and its holders have not had their share.
    pub(in crate::engine) fn take(
        &self,
        claim: &Claim,
        clock: &Clock,
    ) -> Result<HeldPlace, NoPlace> {
        self.account().take(claim.holders(), || clock.now())?;
        Ok(HeldPlace { claim: claim.clone(), places: self.clone() })
    }

    /// Waits for such a place.
    pub(in crate::engine) async fn wait(&self, claim: &Claim, clock: &Clock) -> HeldPlace {
        loop {
            let freed = self.inner.freed.notified();
            if let Ok(place) = self.take(claim, clock) {
                return place;
            }
            freed.await;
        }
    }

    /// Since when runs wait although all places are held, if that is so.
    pub fn full_since(&self) -> Option<DateTime<Utc>> {
        self.account().full_since()
    }

    /// No run waits for a place any more, whoever holds them.
    pub(in crate::engine) fn forget_full(&self) {
        self.account().forget_full();
    }

    /// What there is room for.
    pub(in crate::engine) fn room(&self) -> Room {
        self.account().room()
    }

    /// None of the holders' runs wait any more but those of `full`.
    pub(in crate::engine) fn forget_held_back(&self, but: &[Holder]) {
        self.account().forget_held_back(but);
    }

    /// The quota of live runs of namespaces: the usual one, those that are otherwise, and how many
    /// runs are live on other nodes.
    pub(in crate::engine) fn set_quotas(
        &self,
        usual: Option<i64>,
        own: impl IntoIterator<Item = (Uuid, Option<i64>)>,
        elsewhere: impl IntoIterator<Item = (Uuid, i64)>,
    ) {
        self.account().set_quotas(usual, own, elsewhere);
        self.inner.freed.notify_waiters();
    }

    /// How many there are.
    pub fn capacity(&self) -> usize {
        self.account().capacity()
    }

    /// How many are held.
    pub fn held(&self) -> usize {
        self.account().held()
    }

    /// Whose runs wait for their share, those that hold most first.
    pub fn held_back(&self) -> Vec<HeldBack> {
        self.account().held_back()
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.inner.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Places {
    fn default() -> Self {
        Self::new(0, 100, None)
    }
}

impl HeldPlace {
    /// Whose it is.
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
