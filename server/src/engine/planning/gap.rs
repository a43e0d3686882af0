//! Reads the unclaimed instants between a schedule's cursor and a given instant, part by part.
//!
//! A part has about as many rows as one transaction should write, and the next part begins
//! where it ends. So a year's pause under a calendar with many windows takes many transactions,
//! and after each of them the ledger has no gap before the cursor.
//! Instants older than the schedule's catch-up window form a part of their own.
//! They never run, so their rows are the same for every caller and may be written in advance.

use chrono::{DateTime, Utc};
use entity::Timestamp;
use sea_orm::ConnectionTrait;
use timetable::{
    Fire, Timetable,
    misfire::{self, Entry, Fate},
};

use crate::store::{Store, StoreError, claims::DueSchedule};

/// Maximum number of already recorded instants that one part skips.
const MAX_TAKEN: usize = 1_000;

/// The decisions about a range of consecutive instants.
#[derive(Debug)]
pub(in crate::engine) struct DecidedRange {
    /// The entries, in order, without the instants that already have a row.
    pub(in crate::engine) entries: Vec<Entry>,
    /// The last instant of the part; `None` if the part is empty.
    pub(in crate::engine) last: Option<Timestamp>,
    /// The next instant after the part. It may still belong to the gap.
    pub(in crate::engine) next: Option<Fire>,
}

/// The first part of the instants in `(after, until]`, without those that already have a row,
/// because a backfill does not wait for the cursor. The schedule may be locked, or only read.
pub(in crate::engine) async fn part<C: ConnectionTrait>(
    store: &Store,
    connection: &C,
    schedule: &DueSchedule,
    timetable: &Timetable,
    after: DateTime<Utc>,
    until: DateTime<Utc>,
    policy: &misfire::Policy,
    now: DateTime<Utc>,
) -> Result<DecidedRange, StoreError> {
    let window = now - policy.window;
    let until = if after < window { until.min(window) } else { until };
    let mut plan = misfire::missed(timetable, after, until, now, policy);
    let (Some(first), Some(last)) = (plan.entries.first(), plan.entries.last()) else {
        return Ok(DecidedRange { entries: Vec::new(), last: None, next: plan.next });
    };
    let taken = |most: Option<usize>| {
        store.instants_taken(connection, schedule.id, first.fire.at.into(), last.last.into(), most)
    };
    let mut around = taken(Some(MAX_TAKEN + 1)).await?;
    if let Some(end) = around.get(MAX_TAKEN).copied() {
        if plan.entries.iter().find(|entry| runs(entry)).is_none_or(|run| end <= run.fire.at) {
            plan = plan.before(timetable, end);
        } else {
            // The runs in this part start together.
            // They are few, and so are the instants between them.
            around = taken(None).await?;
        }
    }
    let last = plan.entries.last().map(|entry| entry.last.into());
    let entries = timetable::taken::without(timetable, plan.entries, &around);
    Ok(DecidedRange { entries, last, next: plan.next })
}

fn runs(entry: &Entry) -> bool {
    match entry.fate {
        Fate::Run | Fate::CatchUp => true,
        Fate::Collapsed
        | Fate::Missed
        | Fate::OutsideWindow
        | Fate::OverLimit
        | Fate::Suppressed => false,
    }
}
