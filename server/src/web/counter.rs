//! Counts held items per key: connections of an address, sockets of a person.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The number of held items per key.
#[derive(Debug)]
pub(super) struct ItemCounter<K>(Mutex<HashMap<K, usize>>);

/// One held item, released when this value is dropped.
#[derive(Debug)]
pub(super) struct CountedItem<K: Eq + Hash + Clone> {
    counter: Arc<ItemCounter<K>>,
    key: K,
}

impl<K> Default for ItemCounter<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash + Clone> ItemCounter<K> {
    /// Counts one more item for `key`; returns `None` if that would exceed `max`.
    pub(super) fn take(self: &Arc<Self>, key: K, max: usize) -> Option<CountedItem<K>> {
        let mut held = self.locked();
        let count = held.entry(key.clone()).or_insert(0);
        if *count >= max {
            if *count == 0 {
                held.remove(&key);
            }
            return None;
        }
        *count += 1;
        drop(held);
        Some(CountedItem { counter: self.clone(), key })
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash + Clone> Drop for CountedItem<K> {
    fn drop(&mut self) {
        let mut held = self.counter.locked();
        if let Some(count) = held.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_own_limit_and_no_memory_of_what_was_given_back() {
        let counter = Arc::new(ItemCounter::default());
        let held: Vec<_> = (0..2).map_while(|_| counter.take("a", 2)).collect();
        assert_eq!(held.len(), 2);
        assert!(counter.take("a", 2).is_none());
        assert!(counter.take("b", 2).is_some());
        drop(held);
        assert!(counter.locked().is_empty());
        assert!(counter.take("a", 0).is_none());
        assert!(counter.locked().is_empty());
    }
}
