//! Attempts between the commit that gives them to this node and their start.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::store::holds::Hold;

/// What this node is about to work on: the tables may say already that it does, and nothing else in
/// memory does. So whoever has read the tables and finds an attempt neither here nor at work may be
/// sure that nobody will ever work on it.
#[derive(Debug, Default)]
pub(super) struct Beginnings {
    /// How often each was entered.
    entered: Mutex<HashMap<Hold, usize>>,
}

/// Attempts that were entered, until this is dropped: when they are at work, and when the commit
/// failed, whether it only seemed so or not.
#[derive(Debug)]
pub(super) struct Beginning<'a> {
    all: &'a Beginnings,
    holds: Vec<Hold>,
}

impl Beginnings {
    /// Enters attempts; to be done before the commit.
    pub(super) fn enter(&self, holds: impl IntoIterator<Item = Hold>) -> Beginning<'_> {
        let holds: Vec<Hold> = holds.into_iter().collect();
        let mut entered = self.entered();
        for hold in &holds {
            *entered.entry(*hold).or_default() += 1;
        }
        drop(entered);
        Beginning { all: self, holds }
    }

    /// Whether an attempt is about to begin.
    pub(super) fn has(&self, hold: &Hold) -> bool {
        self.entered().contains_key(hold)
    }

    fn entered(&self) -> MutexGuard<'_, HashMap<Hold, usize>> {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        let mut entered = self.all.entered();
        for hold in &self.holds {
            if let Some(times) = entered.get_mut(hold) {
                *times -= 1;
                if *times == 0 {
                    entered.remove(hold);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_attempt_is_among_them_until_the_last_who_entered_it_is_gone() {
        let all = Beginnings::default();
        let hold = |attempt| Hold { run_id: Uuid::nil(), attempt, node_id: Uuid::nil(), epoch: 1 };
        let one = all.enter([hold(1), hold(2)]);
        let other = all.enter([hold(1)]);
        drop(one);
        assert!(all.has(&hold(1)) && !all.has(&hold(2)));
        drop(other);
        assert!(!all.has(&hold(1)));
    }
}
