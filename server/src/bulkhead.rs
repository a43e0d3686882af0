//! Limits how much of one kind of work is under way: a number of places for all holders together,
//! and a few for each, so that no holder keeps the others out.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError, Weak},
    thread::available_parallelism,
    time::Duration,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::clock::Clock;

/// Number of holders to remember before those that need no place are forgotten.
const REMEMBERED: usize = 1_000;

/// The lowest possible result of [`max_computing`].
const MIN_COMPUTING: usize = 4;

/// The places for one kind of work. Its holders are namespaces or callers, named by `K`.
#[derive(Debug)]
pub(crate) struct Bulkhead<K> {
    all: Arc<Semaphore>,
    of_each: usize,
    holders: Mutex<HashMap<K, Weak<Semaphore>>>,
}

/// A place that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct BulkheadPlace {
    _permits: Vec<OwnedSemaphorePermit>,
}

/// Maximum number of concurrent computations on a node.
pub(crate) fn max_computing() -> usize {
    available_parallelism().map_or(1, usize::from).max(MIN_COMPUTING)
}

impl<K: Eq + Hash> Bulkhead<K> {
    /// Creates `all` places, of which each holder may have `of_each`.
    pub(crate) fn new(all: usize, of_each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), of_each, holders: Mutex::default() }
    }

    /// Creates places that are limited for each holder, but not in total.
    pub(crate) fn for_each(of_each: usize) -> Self {
        Self::new(Semaphore::MAX_PERMITS, of_each)
    }

    /// Waits for a place. A holder that has all of its own waits for one of these first, so that it
    /// keeps no other holder waiting.
    pub(crate) async fn enter(&self, holder: K) -> BulkheadPlace {
        self.enter_for([holder]).await
    }

    /// Waits for a place that counts for each of these holders. It waits for one holder's places at
    /// a time and holds none of the others' meanwhile, so that no holder waits for the places of
    /// another.
    pub(crate) async fn enter_for(&self, holders: impl IntoIterator<Item = K>) -> BulkheadPlace {
        let mut own = self.of_each_holder(holders);
        loop {
            let (mut permits, mut lacking) = (Vec::with_capacity(own.len() + 1), None);
            for (index, places) in own.iter().enumerate() {
                let places = places.clone();
                // Waiting does not fail: the semaphores are never closed.
                let permit = match index {
                    0 => places.acquire_owned().await.ok(),
                    _ => places.try_acquire_owned().ok(),
                };
                let Some(permit) = permit else {
                    lacking = Some(index);
                    break;
                };
                permits.push(permit);
            }
            if let Some(index) = lacking {
                own.swap(0, index);
                continue;
            }
            permits.extend(self.all.clone().acquire_owned().await.ok());
            return BulkheadPlace { _permits: permits };
        }
    }

    /// Waits for a place for at most `patience`.
    pub(crate) async fn enter_within(
        &self,
        holder: K,
        clock: &Clock,
        patience: Duration,
    ) -> Option<BulkheadPlace> {
        clock.timeout(patience, self.enter(holder)).await.ok()
    }

    /// Takes a place if one is free.
    pub(crate) fn try_enter(&self, holder: K) -> Option<BulkheadPlace> {
        let own = self.of_each_holder([holder]).pop()?.try_acquire_owned().ok()?;
        let of_all = self.all.clone().try_acquire_owned().ok()?;
        Some(BulkheadPlace { _permits: vec![own, of_all] })
    }

    /// Each holder's own places. They live as long as one of them is held or waited for.
    fn of_each_holder(&self, holders: impl IntoIterator<Item = K>) -> Vec<Arc<Semaphore>> {
        let mut known = self.holders.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_swept = false;
        let own = |holder: K| {
            if let Some(own) = known.get(&holder).and_then(Weak::upgrade) {
                return own;
            }
            if !is_swept && known.len() >= REMEMBERED {
                known.retain(|_, own| own.strong_count() > 0);
                is_swept = true;
            }
            let own = Arc::new(Semaphore::new(self.of_each));
            known.insert(holder, Arc::downgrade(&own));
            own
        };
        holders.into_iter().map(own).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::FutureExt;

    use super::*;
    use crate::clock::ManualClock;

    #[test]
    fn a_holder_that_has_its_places_leaves_the_others() {
        let bulkhead = Bulkhead::new(3, 2);
        let held = [bulkhead.try_enter("hog"), bulkhead.try_enter("hog")];
        assert!(held.iter().all(Option::is_some));
        assert!(bulkhead.try_enter("hog").is_none(), "it has two");
        let other = bulkhead.try_enter("other");
        assert!(other.is_some());
        assert!(bulkhead.try_enter("third").is_none(), "all are taken");
        drop(other);
        assert!(bulkhead.try_enter("third").is_some());
    }

    #[test]
    fn a_holder_that_waits_keeps_no_other_waiting() {
        let bulkhead = Bulkhead::new(3, 2);
        let held = [bulkhead.try_enter("hog"), bulkhead.try_enter("hog")];
        let mut waits = pin!(bulkhead.enter("hog"));
        assert!(waits.as_mut().now_or_never().is_none());
        assert!(bulkhead.enter("other").now_or_never().is_some());
        drop(held);
        assert!(waits.now_or_never().is_some());
    }

    #[test]
    fn a_place_for_several_holders_counts_for_each_of_them() {
        let bulkhead = Bulkhead::new(9, 1);
        let both = bulkhead.enter_for(["left", "right"]).now_or_never();
        assert!(both.is_some());
        assert!(bulkhead.try_enter("left").is_none() && bulkhead.try_enter("right").is_none());
        drop(both);
        assert!(bulkhead.try_enter("left").is_some() && bulkhead.try_enter("right").is_some());
    }

    #[test]
    fn a_wait_for_one_holder_keeps_no_place_of_another() {
        let bulkhead = Bulkhead::new(9, 1);
        for holders in [["busy", "free"], ["free", "busy"]] {
            let busy = bulkhead.try_enter("busy");
            let mut waits = pin!(bulkhead.enter_for(holders));
            assert!(waits.as_mut().now_or_never().is_none());
            let free = bulkhead.try_enter("free");
            assert!(free.is_some(), "{holders:?}");
            drop(busy);
            assert!(waits.as_mut().now_or_never().is_none(), "the other's is taken by now");
            drop(free);
            assert!(waits.now_or_never().is_some());
        }
    }

    #[tokio::test]
    async fn a_wait_ends_with_the_patience() {
        let (bulkhead, time) =
            (Bulkhead::for_each(1), ManualClock::new(chrono::DateTime::UNIX_EPOCH));
        let held = bulkhead.try_enter("hog");
        let (clock, patience) = (time.clock(), Duration::from_secs(10));
        let mut waits = pin!(bulkhead.enter_within("hog", &clock, patience));
        assert!(waits.as_mut().now_or_never().is_none());
        time.pass(patience);
        assert!(waits.await.is_none());
        drop(held);
        assert!(bulkhead.enter_within("hog", &clock, patience).await.is_some());
    }

    #[test]
    fn holders_without_a_place_are_forgotten() {
        let bulkhead = Bulkhead::for_each(1);
        let held = bulkhead.try_enter(0);
        for holder in 1..3 * REMEMBERED {
            drop(bulkhead.try_enter(holder));
        }
        assert!(bulkhead.holders.lock().unwrap().len() <= REMEMBERED);
        assert!(bulkhead.try_enter(0).is_none(), "its place is still held");
        drop(held);
    }
}
