//! Collects concurrent requests for one transaction.
//!
//! It does not know what a request is. Requests that arrive while others are carried out wait; the
//! one that has the turn takes all waiting ones, again and again until there are none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// Maximum number of requests in one batch.
const MAX: usize = 500;

/// Requests that wait to be carried out.
#[derive(Debug)]
pub(in crate::commands) struct Batcher<T> {
    orders: Mutex<Vec<T>>,
    turn: Arc<Turn<()>>,
}

impl<T> Default for Batcher<T> {
    fn default() -> Self {
        Self { orders: Mutex::default(), turn: Arc::default() }
    }
}

impl<T> Batcher<T> {
    pub(in crate::commands) fn put(&self, order: T) {
        self.waiting().push(order);
    }

    /// The turn to carry out requests. There is only one: with two, each batch would be half as
    /// large.
    pub(in crate::commands) async fn turn(&self) -> OwnedMutexGuard<()> {
        self.turn.clone().lock_owned().await
    }

    /// All waiting requests that are still wanted.
    pub(in crate::commands) fn take(&self, is_wanted: impl Fn(&T) -> bool) -> Vec<T> {
        let mut orders = self.waiting();
        orders.retain(is_wanted);
        let count = orders.len().min(MAX);
        orders.drain(..count).collect()
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<T>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_wait_and_are_wanted_are_taken_once() {
        let gathering = Batcher::default();
        (1..=4).for_each(|order| gathering.put(order));
        assert_eq!(gathering.take(|order| order % 2 == 0), [2, 4]);
        assert_eq!(gathering.take(|_| true), Vec::<i32>::new());
    }

    #[test]
    fn no_more_are_taken_than_go_into_one() {
        let gathering = Batcher::default();
        (0..MAX + 2).for_each(|order| gathering.put(order));
        assert_eq!(gathering.take(|_| true).len(), MAX);
        assert_eq!(gathering.take(|_| true), [MAX, MAX + 1], "in their order");
    }
}
