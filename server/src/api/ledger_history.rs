//! The history that a check of the ledger relies on: for how long rows are kept, and what calendars
//! were.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_graphql::Context;
use entity::{Timestamp, schedule::Model};
use uuid::Uuid;

use super::{context::ContextExt, error::Result};
use crate::{
    model::ledger_check::{CalendarHistories, CalendarHistory, CheckedRange, ScheduleLife},
    store::{Store, calendars, namespaces, reads::ledger_check::AccountingRow},
};

/// Changes up to this long before the range are read, in milliseconds: they take effect a little
/// earlier or later than they say.
pub(super) const NEAR_MS: i64 = 3_600_000;
/// Maximum number of versions of calendars that a request compiles, each in up to a millisecond: as
/// many as eight calendars have, and some more.
const CALENDAR_VERSIONS: usize = 1_000;

/// The history that a namespace keeps.
#[derive(Clone, Copy, Default)]
pub(super) struct KeptHistory {
    /// The number of days, without a schedule's own retention.
    days: i32,
    /// The instant before which a quota has cut it.
    cut: Option<Timestamp>,
}

impl KeptHistory {
    /// The part of a range whose rows have not been removed.
    pub(super) fn part_of(
        self,
        range: CheckedRange,
        life: &ScheduleLife,
        now: Timestamp,
    ) -> CheckedRange {
        let kept = life.kept_from(self.days, now);
        let from = range.from.max(kept).max(self.cut.unwrap_or(kept));
        CheckedRange { from: from.min(range.until), ..range }
    }
}

/// The histories that the namespaces of these schedules keep.
pub(super) async fn kept_histories(
    cx: &Context<'_>,
    rows: &[Model],
) -> Result<HashMap<Uuid, KeptHistory>> {
    let mut ids: Vec<Uuid> = rows.iter().map(|row| row.namespace_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let usual = cx.commands().retention.days;
    let mut kept = HashMap::with_capacity(ids.len());
    for namespace in namespaces::by_ids(cx.store().read(), &ids).await? {
        let cut = cx.store().cut_of(namespace.id).await?;
        let days = namespace.retention_days.unwrap_or(usual);
        kept.insert(namespace.id, KeptHistory { days, cut });
    }
    Ok(kept)
}

/// Reads what calendars were, each of them once for all schedules of a request.
pub(super) struct CalendarReader {
    /// The calendars, each with the instant from which on its versions were read.
    known: HashMap<Uuid, (Timestamp, Arc<CalendarHistory>)>,
    /// Number of versions that may still be compiled.
    left: usize,
}

impl CalendarReader {
    pub(super) fn new() -> Self {
        Self { known: HashMap::new(), left: CALENDAR_VERSIONS }
    }

    /// The life of a schedule with the calendars that its rows are about. `None` if the request has
    /// compiled too many for other schedules. If a single schedule has too many, some are missing,
    /// and are not judged.
    pub(super) async fn complete(
        &mut self,
        store: &Store,
        life: ScheduleLife,
        range: CheckedRange,
        rows: &[AccountingRow],
    ) -> Result<Option<ScheduleLife>> {
        let keys = life.calendar_keys();
        if keys.is_empty() || rows.is_empty() {
            return Ok(Some(life));
        }
        // What was skipped in advance was decided by the calendars of that time.
        let decided = rows.iter().map(|row| row.claimed_at).min();
        let since = range.from.min(decided.unwrap_or(range.from));
        let since = Timestamp(since.0.saturating_sub(NEAR_MS));
        let is_first = self.known.is_empty();
        let is_missing =
            |key: &Uuid| self.known.get(key).is_none_or(|(known_since, _)| *known_since > since);
        let missing: Vec<Uuid> = keys.iter().copied().filter(is_missing).collect();
        for row in calendars::by_ids(store.read(), &missing).await? {
            let past = if row.updated_at > since {
                calendars::past(store.read(), &[row.id]).await?
            } else {
                vec![]
            };
            let versions = past.iter().filter(|was| was.ended_at > since).count() + 1;
            let Some(left) = self.left.checked_sub(versions) else {
                if is_first {
                    break;
                }
                return Ok(None);
            };
            self.left = left;
            let history = Arc::new(CalendarHistory::of(&row, &past, since));
            self.known.insert(row.id, (since, history));
            // Yield to other tasks, however many calendars there are.
            tokio::task::yield_now().await;
        }
        Ok(Some(life.with_calendars(self.of(&keys))))
    }

    fn of(&self, keys: &HashSet<Uuid>) -> CalendarHistories {
        let known = |key: &Uuid| Some((*key, Arc::clone(&self.known.get(key)?.1)));
        keys.iter().filter_map(known).collect()
    }
}
