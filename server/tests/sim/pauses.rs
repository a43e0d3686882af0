//! When a schedule was paused, as it was ordered: what the ledger says of pauses is held against it.

use chrono::{DateTime, Utc};
use entity::{fire, schedule};

/// The pauses of a schedule, in order.
#[derive(Default)]
pub(crate) struct Pauses(Vec<Pause>);

struct Pause {
    /// What lies before this was claimed by then, or accounted for.
    from: DateTime<Utc>,
    /// It ends there by itself.
    until: Option<DateTime<Utc>>,
    /// The latest that a clock has shown when somebody ordered something in it: all before that may
    /// be accounted for, also where the clocks are stepped back after it.
    latest: DateTime<Utc>,
    /// Somebody ended it at that instant.
    ended: Option<DateTime<Utc>>,
}

impl Pauses {
    /// Whether there was any.
    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether all that a row accounts for fell into one of them. What nobody has claimed by its
    /// beginning falls into it, and nothing does from its end on, whoever comes to that when.
    pub(crate) fn cover(&self, row: &fire::Model) -> bool {
        let (first, last) = (row.scheduled_at.utc(), row.last_scheduled_at.utc());
        self.0.iter().any(|pause| {
            pause.from <= first
                && pause.until.is_none_or(|until| last < until)
                && pause.ended.is_none_or(|ended| last <= ended)
        })
    }

    /// Somebody ordered something at `now`, which made of the schedule `before` that `row`. Where a
    /// pause ends by itself, nobody orders anything.
    pub(crate) fn note(
        &mut self,
        before: &schedule::Model,
        row: &schedule::Model,
        now: DateTime<Utc>,
    ) {
        let cursors = [before.next_scheduled_at, row.next_scheduled_at];
        let cursors = cursors.into_iter().flatten().map(|at| at.utc());
        let from = cursors.fold(now, Ord::min);
        let until = row.paused_until.map(|at| at.utc());
        match (self.0.last_mut().filter(|_| !before.enabled), row.enabled) {
            (None, true) => {}
            (None, false) => self.0.push(Pause { from, until, latest: now, ended: None }),
            // An edit begins from now, and the clocks may have been stepped back.
            (Some(pause), false) => {
                (pause.from, pause.until) = (pause.from.min(from), until);
                pause.latest = pause.latest.max(now);
            }
            (Some(pause), true) => pause.ended = Some(pause.latest.max(now)),
        }
    }
}
