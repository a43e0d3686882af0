//! The schedules whose fires the database refuses, and when each is tried again.
//! Computed without IO.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use entity::Timestamp;
use uuid::Uuid;

use crate::store::candidates::Candidate;

/// How long a schedule is quarantined at first, and at most. The time doubles with each refusal.
const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(300);

/// Maximum number of quarantined schedules.
/// If the database refuses more than this, the problem is the database.
const MAX: usize = 100;

/// The schedules that claims leave out.
///
/// Each node finds these schedules itself, and forgets them when it ends.
/// Nothing is written about them, because the database might refuse that as well. Their fires stay
/// due. If an edit has changed a schedule's cursor, the schedule is claimed like any other.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    waiting: HashMap<Uuid, QuarantinedSchedule>,
}

#[derive(Clone, Copy, Debug)]
struct QuarantinedSchedule {
    at: Timestamp,
    until: Instant,
    pause: Duration,
}

impl Quarantine {
    /// All quarantined schedules.
    pub(super) fn all(&self) -> Vec<Candidate> {
        let candidate =
            |(id, waiting): (&Uuid, &QuarantinedSchedule)| Candidate { id: *id, at: waiting.at };
        self.waiting.iter().map(candidate).collect()
    }

    /// Quarantines a schedule. Returns for how long, or `None` if there are already too many.
    pub(super) fn put(&mut self, refused: Candidate, now: Instant) -> Option<Duration> {
        let before = self.waiting.get(&refused.id);
        if before.is_none() && self.waiting.len() >= MAX {
            return None;
        }
        let pause = before.map_or(FIRST, |before| (before.pause * 2).min(LONGEST));
        self.waiting
            .insert(refused.id, QuarantinedSchedule { at: refused.at, until: now + pause, pause });
        Some(pause)
    }

    /// The schedules whose quarantine has ended.
    pub(super) fn to_try(&self, now: Instant) -> Vec<Uuid> {
        let over = self.waiting.iter().filter(|(_, waiting)| waiting.until <= now);
        over.map(|(schedule, _)| *schedule).collect()
    }

    /// The time until the first quarantined schedule may be tried again.
    pub(super) fn next_try(&self, now: Instant) -> Option<Duration> {
        let until = self.waiting.values().map(|waiting| waiting.until).min();
        until.map(|until| until.saturating_duration_since(now))
    }

    /// Ends a schedule's quarantine: from now on it is claimed like any other.
    pub(super) fn take_back(&mut self, schedule: Uuid) {
        self.waiting.remove(&schedule);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    fn refused(number: u128) -> Candidate {
        Candidate { id: Uuid::from_u128(number), at: Timestamp(5) }
    }

    #[test]
    fn one_is_set_aside_for_ever_longer() {
        let (start, one) = (Clock::system().instant(), refused(1));
        let id = one.id;
        let mut aside = Quarantine::default();
        assert_eq!(aside.next_try(start), None);
        assert_eq!(aside.put(one, start), Some(FIRST));
        assert!(aside.to_try(start + FIRST / 2).is_empty());
        assert_eq!(aside.next_try(start + FIRST / 2), Some(FIRST / 2));
        assert_eq!(aside.to_try(start + FIRST), [id]);
        assert_eq!(aside.put(one, start + FIRST), Some(FIRST * 2));
        assert!(aside.to_try(start + FIRST * 2).is_empty());
        assert_eq!(aside.all(), [one]);
        for _ in 0..9 {
            aside.put(one, start);
        }
        assert_eq!(aside.put(one, start), Some(LONGEST));
        aside.take_back(id);
        assert!(aside.all().is_empty());
        assert_eq!(aside.put(one, start), Some(FIRST), "what was is forgotten");
    }

    #[test]
    fn if_too_many_schedules_are_refused_no_more_are_set_aside() {
        let start = Clock::system().instant();
        let mut aside = Quarantine::default();
        let mut ids = (0..MAX as u128).map(refused);
        assert!(ids.all(|one| aside.put(one, start).is_some()));
        assert_eq!(aside.put(refused(u128::MAX), start), None);
        assert_eq!(aside.put(refused(0), start), Some(FIRST * 2), "one of them");
    }
}
