//! The pauses of a schedule, as operators requested them. Statements of the ledger about pauses are
//! compared with them.

use chrono::{DateTime, Utc};
use entity::{fire, schedule};

/// The pauses of a schedule, in order.
#[derive(Default)]
pub(crate) struct Pauses(Vec<Pause>);

struct Pause {
    /// Instants before this one were already claimed or accounted for when the pause began.
    from: DateTime<Utc>,
    /// The pause ends by itself at this instant.
    until: Option<DateTime<Utc>>,
    /// The latest time that a clock showed at a request during the pause. Instants before it may be
    /// accounted for, even if clocks are stepped back afterwards.
    latest: DateTime<Utc>,
    /// The pause was ended at this instant.
    ended: Option<DateTime<Utc>>,
}

impl Pauses {
    /// Whether the schedule was ever paused.
    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Whether all instants of a row fell into a pause. A pause includes instants that were not
    /// claimed before it began, and excludes instants from its end on, whenever they are accounted
    /// for.
    pub(crate) fn cover(&self, row: &fire::Model) -> bool {
        let (first, last) = (row.scheduled_at.utc(), row.last_scheduled_at.utc());
        self.0.iter().any(|pause| {
            pause.from <= first
                && pause.until.is_none_or(|until| last < until)
                && pause.ended.is_none_or(|ended| last <= ended)
        })
    }

    /// Records a request at `now` that changed the schedule from `before` to `row`. When a pause
    /// ends at its set time, there is no request.
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
            // An edit accounts for instants from now on, and the clocks may have been stepped back
            // since the pause began.
            (Some(pause), false) => {
                (pause.from, pause.until) = (pause.from.min(from), until);
                pause.latest = pause.latest.max(now);
            }
            (Some(pause), true) => pause.ended = Some(pause.latest.max(now)),
        }
    }
}
