//! Orders that come at the same time, gathered for one transaction.
//!
//! Nothing is known here of what an order is. Whoever comes while others are carried out waits;
//! whoever has the turn takes all that wait, again and again until none does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

/// So many orders in one.
const MAX: usize = 500;

/// Orders that wait to be carried out.
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

    /// The turn to carry orders out. There is one: with two, each would have half as many orders.
    pub(in crate::commands) async fn turn(&self) -> OwnedMutexGuard<()> {
        self.turn.clone().lock_owned().await
    }

    /// All that wait and are still wanted.
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
