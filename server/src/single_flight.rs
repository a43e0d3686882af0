//! One lookup at a time per key, whose answer concurrent callers share: the basis of caches.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Mutex as Turn;

/// The last answer for a key. The holder of the lock may look the key up again; others wait for the
/// result.
pub(crate) type Slot<V> = Arc<Turn<Option<V>>>;

/// The slots, by key.
pub(crate) struct SingleFlight<K, V> {
    slots: Mutex<Slots<K, V>>,
    /// Below this number of slots, no slot is removed.
    few: usize,
}

struct Slots<K, V> {
    by_key: HashMap<K, Slot<V>>,
    sweep_at: usize,
}

impl<K: Eq + Hash, V> SingleFlight<K, V> {
    /// Creates slots. Unused ones are removed once there are more than `few`, and more than twice
    /// as many as the last removal left.
    pub(crate) fn new(few: usize) -> Self {
        Self { slots: Mutex::new(Slots { by_key: HashMap::new(), sweep_at: few }), few }
    }

    /// The slot of a key. Slots that are not in use and whose answers are outdated may be dropped.
    pub(crate) fn slot<Q>(&self, key: &Q, is_good: impl Fn(&V) -> bool) -> Slot<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.by_key.get(key) {
            return slot.clone();
        }
        if slots.by_key.len() >= slots.sweep_at {
            let is_needed = |slot: &Slot<V>| {
                Arc::strong_count(slot) > 1
                    || slot.try_lock().is_ok_and(|last| last.as_ref().is_some_and(&is_good))
            };
            slots.by_key.retain(|_, slot| is_needed(slot));
            slots.sweep_at = self.few.max(2 * slots.by_key.len());
        }
        let slot = Slot::default();
        slots.by_key.insert(key.to_owned(), slot.clone());
        slot
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).by_key.len()
    }
}
