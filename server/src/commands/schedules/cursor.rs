//! The position of a schedule's cursor in its timetable.

use chrono::{DateTime, TimeDelta, Utc};
use entity::{Timestamp, schedule::ActiveModel};
use sea_orm::Set;
use timetable::{Timetable, Warning};

/// A schedule's cursor: its next fire after an instant.
///
/// An edit starts from now. Fires that were missed under the old definition are not caught up on
/// under the new one, so an edit never starts a run for a past instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) struct ScheduleCursor {
    scheduled_at: Option<Timestamp>,
    fire_at: Option<Timestamp>,
}

impl ScheduleCursor {
    /// The first fire after `begin`.
    pub(in crate::commands) fn after(timetable: &Timetable, begin: DateTime<Utc>) -> Self {
        let next = timetable.next(begin);
        Self {
            scheduled_at: next.map(|fire| fire.at.into()),
            fire_at: next.map(|fire| timetable.due_at(fire.at).into()),
        }
    }

    /// No fire is left.
    pub(in crate::commands) fn none() -> Self {
        Self { scheduled_at: None, fire_at: None }
    }

    /// Sets the columns.
    pub(in crate::commands) fn fill(self, row: &mut ActiveModel) {
        row.next_scheduled_at = Set(self.scheduled_at);
        row.next_fire_at = Set(self.fire_at);
    }
}

/// The end of the instants from `cursor` on that count as due at `now`. An instant that has come
/// but still waits for its jitter does not count. There is at most one such instant, because jitter
/// ends before the next instant.
pub(in crate::commands) fn due_until(
    timetable: &Timetable,
    cursor: DateTime<Utc>,
    now: DateTime<Utc>,
) -> DateTime<Utc> {
    let before = |at: DateTime<Utc>| at - TimeDelta::milliseconds(1);
    let last = timetable.last(now, before(cursor));
    let waits = last.filter(|fire| timetable.due_at(fire.at) > now);
    waits.map_or(now, |fire| before(fire.at))
}

/// Warnings about a timing that is valid but probably not intended.
pub(in crate::commands) fn warnings(timetable: &Timetable, now: DateTime<Utc>) -> Vec<Warning> {
    timetable.lint(now)
}

/// The schedule's shard: a hash of its key modulo 256 (FNV-1a), the same on every node and after
/// every restart.
pub(in crate::commands) fn shard(id: uuid::Uuid) -> i16 {
    let hash = id
        .as_bytes()
        .iter()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    i16::from(hash.to_le_bytes()[0])
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn shards_are_stable_and_even() {
        assert_eq!(shard(Uuid::from_u128(1)), shard(Uuid::from_u128(1)));
        let mut counts = [0_u32; 256];
        for key in 0..25_600_u128 {
            counts[usize::try_from(shard(Uuid::from_u128(key))).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (50..=150).contains(count)), "{counts:?}");
    }
}
