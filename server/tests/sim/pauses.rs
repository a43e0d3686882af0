//! The pauses of a schedule, as operators requested them. Statements of the ledger about pauses are
//! compared with them.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use entity::{
    Timestamp, fire,
    schedule::{self, CatchUp},
};

/// The pauses of a schedule.
#[derive(Default)]
pub(crate) struct Pauses {
    /// The pauses, in order.
    pauses: Vec<Pause>,
    /// The times of all requests about the schedule.
    requests: BTreeSet<Timestamp>,
}

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
    /// What the pause chose for its automatic end.
    missed: Option<CatchUp>,
}

impl Pauses {
    /// Whether the schedule was ever paused.
    pub(crate) fn any(&self) -> bool {
        !self.pauses.is_empty()
    }

    /// Whether all instants of a row fell into a pause. A pause includes instants that were not
    /// claimed before it began, and excludes instants from its end on, whenever they are accounted
    /// for.
    pub(crate) fn cover(&self, row: &fire::Model) -> bool {
        let (first, last) = (row.scheduled_at.utc(), row.last_scheduled_at.utc());
        self.pauses.iter().any(|pause| {
            pause.from <= first
                && pause.until.is_none_or(|until| last < until)
                && pause.ended.is_none_or(|ended| last <= ended)
        })
    }

    /// The policy by which the automatic end of a pause wrote a row. `None` if something else may
    /// have written the row: a request that ended the pause, or that ended the timing during it.
    pub(crate) fn ended_by(&self, row: &fire::Model) -> Option<CatchUp> {
        let first = row.scheduled_at.utc();
        let mut covering = self
            .pauses
            .iter()
            .filter(|pause| pause.from <= first && pause.until.is_none_or(|until| first < until));
        // On clocks that were stepped back, several pauses may have the same instants.
        let (Some(pause), None) = (covering.next(), covering.next()) else { return None };
        let is_automatic = pause.until.is_some() && pause.ended.is_none();
        let by_request = self.requests.contains(&row.claimed_at);
        (is_automatic && !by_request).then(|| pause.missed.unwrap_or(CatchUp::Skip))
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
        let missed = row.paused_missed;
        self.requests.insert(now.into());
        // The pauses of maintenance windows begin without a request: see `windows`.
        let is_of_window = |row: &schedule::Model| !row.enabled && row.paused_window_id.is_some();
        let was_paused = !before.enabled && !is_of_window(before);
        match (self.pauses.last_mut().filter(|_| was_paused), row.enabled) {
            (None, true) => {}
            (None, false) if is_of_window(row) => {}
            (None, false) => {
                self.pauses.push(Pause { from, until, latest: now, ended: None, missed });
            }
            // An edit accounts for instants from now on, and the clocks may have been stepped back
            // since the pause began.
            (Some(pause), false) => {
                (pause.from, pause.until) = (pause.from.min(from), until);
                pause.missed = missed;
                pause.latest = pause.latest.max(now);
            }
            (Some(pause), true) => pause.ended = Some(pause.latest.max(now)),
        }
    }
}
