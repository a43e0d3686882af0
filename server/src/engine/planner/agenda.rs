use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use entity::Timestamp;

use crate::store::{Store, StoreError};

/// The instants at which something falls due, up to a horizon: the planner's timer heap. It holds
/// no schedules, so it cannot disagree with the tables about them.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    instants: BTreeSet<Timestamp>,
    /// Up to here the agenda is complete.
    horizon: Option<Timestamp>,
}

/// More instants than this are not looked up at once; the horizon is then the last of them.
const LOOKED_UP: u64 = 10_000;

impl Agenda {
    /// Reads the tables again: a round happens only when an instant has come, something was
    /// changed or the horizon is near, so each of them deserves a look.
    pub(super) async fn refill(
        &mut self,
        store: &Store,
        now: DateTime<Utc>,
        look_ahead: TimeDelta,
    ) -> Result<(), StoreError> {
        let until = Timestamp::from(now + look_ahead);
        let found = store.due_instants(until, LOOKED_UP).await?;
        let complete = (found.len() as u64) < LOOKED_UP;
        self.horizon = if complete { Some(until) } else { found.last().copied() };
        self.instants = found.into_iter().collect();
        Ok(())
    }

    /// When to look next.
    pub(super) fn next(&mut self, now: Timestamp) -> Timestamp {
        let first = self.instants.first().copied();
        first.or(self.horizon).unwrap_or(now)
    }
}
