//! Schedules whose fires the database refuses, and when each is tried again. Pure: from instants to
//! an answer.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use uuid::Uuid;

/// For so long one is set aside, then twice as long each time, up to the ceiling.
const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(300);

/// So many are set aside: where more are refused it is not they that are wrong, but the database.
const MOST: usize = 100;

/// Schedules that others are claimed without.
///
/// Each node finds them itself, and forgets them when it ends: nothing is written of them, for that
/// might be refused likewise. What is due of them stays due.
#[derive(Debug, Default)]
pub(super) struct Aside {
    waiting: HashMap<Uuid, Waiting>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    until: Instant,
    pause: Duration,
}

impl Aside {
    /// Those that others are claimed without.
    pub(super) fn all(&self) -> Vec<Uuid> {
        self.waiting.keys().copied().collect()
    }

    /// Sets one aside; says for how long. Nothing, if there are too many already.
    pub(super) fn put(&mut self, schedule: Uuid, now: Instant) -> Option<Duration> {
        let before = self.waiting.get(&schedule);
        if before.is_none() && self.waiting.len() >= MOST {
            return None;
        }
        let pause = before.map_or(FIRST, |before| (before.pause * 2).min(LONGEST));
        self.waiting.insert(schedule, Waiting { until: now + pause, pause });
        Some(pause)
    }

    /// Those whose time is over.
    pub(super) fn to_try(&self, now: Instant) -> Vec<Uuid> {
        let over = self.waiting.iter().filter(|(_, waiting)| waiting.until <= now);
        over.map(|(schedule, _)| *schedule).collect()
    }

    /// It is claimed as the others are, from now on.
    pub(super) fn take_back(&mut self, schedule: Uuid) {
        self.waiting.remove(&schedule);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[test]
    fn one_is_set_aside_for_ever_longer() {
        let (start, id) = (Clock::system().instant(), Uuid::from_u128(1));
        let mut aside = Aside::default();
        assert_eq!(aside.put(id, start), Some(FIRST));
        assert!(aside.to_try(start + FIRST / 2).is_empty());
        assert_eq!(aside.to_try(start + FIRST), [id]);
        assert_eq!(aside.put(id, start + FIRST), Some(FIRST * 2));
        assert!(aside.to_try(start + FIRST * 2).is_empty());
        assert_eq!(aside.all(), [id]);
        for _ in 0..9 {
            aside.put(id, start);
        }
        assert_eq!(aside.put(id, start), Some(LONGEST));
        aside.take_back(id);
        assert!(aside.all().is_empty());
        assert_eq!(aside.put(id, start), Some(FIRST), "what was is forgotten");
    }

    #[test]
    fn where_too_many_are_refused_no_more_are_set_aside() {
        let start = Clock::system().instant();
        let mut aside = Aside::default();
        let ids = (0..MOST as u128).map(Uuid::from_u128);
        assert!(ids.into_iter().all(|id| aside.put(id, start).is_some()));
        assert_eq!(aside.put(Uuid::max(), start), None);
        assert_eq!(aside.put(Uuid::nil(), start), Some(FIRST * 2), "one of them");
    }
}
