//! The days of the ledger that can contain live rows.
//!
//! On PostgreSQL, the ledger is partitioned by day. A statement that looks for live rows has no key
//! that determines a day, so it would be planned across all days, which takes longer than running
//! it. So each process finds out every few seconds where the oldest and the newest live rows are,
//! and such statements name the days in between as constants.
//!
//! Rows that become live after a scan have just been created.
//! So they are within a day of the present, which every range includes. There are three exceptions.
//! A run has the key of its fire, so pending fires also count among the runs, by their keys. Rows
//! that this process itself writes widen the range immediately. An instant that is caught up on may
//! be long past, so a caller that decides by a schedule's live rows states how far back it catches
//! up. A result that has not been refreshed for a minute is not used: then all days are searched.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entity::Timestamp;
use sea_orm::FromQueryResult;
use uuid::Uuid;

use super::days::{DAY_MS, DayRange, first_key, made_at};
use crate::store::{Store, StoreError};

/// The largest distance of new rows from the present, in milliseconds.
/// The clocks of nodes differ by less.
const MARGIN: i64 = DAY_MS;

/// How long the result of a scan stays valid, in milliseconds.
const VALID: i64 = 60_000;

/// The days that can contain live rows. Cheap to clone; clones share their state.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveDays(Arc<Mutex<ScanState>>);

#[derive(Clone, Copy, Debug, Default)]
struct ScanState {
    found: Option<ScannedRanges>,
    /// The rows that this process has written since the last scan, and between the two scans
    /// before: a scan may have begun before these rows were committed.
    written: [Spans; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScannedRanges {
    at: i64,
    spans: Spans,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spans {
    runs: InstantRange,
    fires: InstantRange,
}

impl Spans {
    fn with(self, other: Self) -> Self {
        Self { runs: self.runs.with(other.runs), fires: self.fires.with(other.fires) }
    }
}

impl Default for Spans {
    fn default() -> Self {
        Self { runs: InstantRange::NOTHING, fires: InstantRange::NOTHING }
    }
}

/// A range from a first to a last instant, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InstantRange {
    first: i64,
    last: i64,
}

impl InstantRange {
    const NOTHING: Self = Self { first: i64::MAX, last: i64::MIN };

    fn with(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }

    fn around(self, now: i64) -> Self {
        let present = Self { first: now.saturating_sub(MARGIN), last: now.saturating_add(MARGIN) };
        self.with(present)
    }
}

impl LiveDays {
    /// The condition that a run with the key in `column` can be live at
    /// `now`, to be appended to another condition.
    pub(crate) fn of_runs(&self, column: &'static str, now: Timestamp) -> String {
        let Some(spans) = self.believed(now) else { return String::new() };
        let InstantRange { first, last } = spans.runs.around(now.0);
        DayRange::of_keys(column, [first, last].map(first_key).into_iter()).condition()
    }

    /// The condition that a fire with the instant in `column` can be pending at `now`.
    /// `since` says how far back the recent writes of other nodes may lie.
    pub(crate) fn of_fires(
        &self,
        column: &'static str,
        now: Timestamp,
        since: RowsSince,
    ) -> String {
        let Some(spans) = self.believed(now) else { return String::new() };
        let caught_up = match since {
            RowsSince::Margin => now.0,
            RowsSince::Anything => return String::new(),
            RowsSince::Instant(at) => at.0,
        };
        let caught_up = InstantRange { first: caught_up.saturating_sub(MARGIN), last: caught_up };
        let InstantRange { first, last } = spans.fires.with(caught_up).around(now.0);
        let instants = [first, last].map(Timestamp);
        DayRange::of_instants(column, instants.into_iter()).condition()
    }

    fn replace(&self, found: Option<ScannedRanges>) {
        let mut known = self.lock();
        known.found = found;
        known.written = [Spans::default(), known.written[0]];
    }

    /// Adds rows that this process writes: pending fires, with their keys and instants.
    pub(in crate::store) fn widen(&self, fires: impl Iterator<Item = (Uuid, Timestamp)>) {
        let at = |at: i64| InstantRange { first: at, last: at };
        let spans =
            fires.map(|(id, instant)| Spans { runs: at(made_at(id)), fires: at(instant.0) });
        let all = spans.fold(Spans::default(), Spans::with);
        let mut known = self.lock();
        known.written[0] = known.written[0].with(all);
    }

    fn believed(&self, now: Timestamp) -> Option<Spans> {
        let ScanState { found, written: [latest, before] } = *self.lock();
        let found = found.filter(|found| now.0.abs_diff(found.at) <= VALID.unsigned_abs())?;
        Some(found.spans.with(latest).with(before))
    }

    fn lock(&self) -> MutexGuard<'_, ScanState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far back rows may lie that other nodes have written since the last scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsSince {
    /// At most as far back as the margin, or it does no harm to see older rows a moment later.
    Margin,
    /// Not before the given instant.
    Instant(Timestamp),
    /// Anywhere in the ledger.
    Anything,
}

#[derive(FromQueryResult)]
struct LiveKeys {
    first_run: Option<String>,
    last_run: Option<String>,
    first_intent: Option<String>,
    first_fire: Option<i64>,
    last_fire: Option<i64>,
}

impl Store {
    /// Scans where the live rows are, for later statements.
    /// Does nothing on SQLite, where the ledger is a single table.
    pub async fn refresh_live_days(&self, now: Timestamp) -> Result<(), StoreError> {
        if !self.dialect().is_postgres() {
            return Ok(());
        }
        // The statement has no parameter, so that each connection plans it only once, although
        // across all days. The text form of keys sorts like the keys, but has no index that could
        // mislead the planner into reading history.
        let sql = "SELECT r.first_run, r.last_run, f.first_intent, f.first_fire, f.last_fire \
             FROM (SELECT min(id::text) AS first_run, max(id::text) AS last_run FROM run \
                    WHERE state IN ('queued', 'running', 'retrying')) r, \
               (SELECT min(id::text) AS first_intent, min(scheduled_at) AS first_fire, \
                  max(scheduled_at) AS last_fire FROM ( \
                    SELECT id, scheduled_at FROM fire \
                     WHERE verdict = 'pending' AND claimed_by IS NOT NULL \
                    UNION ALL \
                    SELECT id, scheduled_at FROM fire \
                     WHERE verdict = 'pending' AND claimed_by IS NULL AND queue_position IS NULL \
                    UNION ALL \
                    SELECT id, scheduled_at FROM fire \
                     WHERE verdict = 'pending' AND queue_position IS NOT NULL) p) f";
        let row =
            LiveKeys::find_by_statement(self.dialect().statement(sql, [])).one(self.rounds()).await;
        // If the result is unknown, later statements search all days.
        let found = row.as_ref().ok().and_then(Option::as_ref).map(|row| {
            let made = |key: &Option<String>| {
                let key = key.as_deref().and_then(|key| Uuid::try_parse(key).ok());
                let made = key.map(made_at);
                made.map_or(InstantRange::NOTHING, |at| InstantRange { first: at, last: at })
            };
            let runs = made(&row.first_run).with(made(&row.last_run)).with(made(&row.first_intent));
            let first = row.first_fire.unwrap_or(InstantRange::NOTHING.first);
            let last = row.last_fire.unwrap_or(InstantRange::NOTHING.last);
            ScannedRanges { at: now.0, spans: Spans { runs, fires: InstantRange { first, last } } }
        });
        self.dialect().live().replace(found);
        row?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(100 * DAY_MS + 7);

    fn live(first: i64, last: i64) -> LiveDays {
        let span = InstantRange { first: first * DAY_MS + 1, last: last * DAY_MS + 1 };
        let live = LiveDays::default();
        live.replace(Some(ScannedRanges { at: NOW.0, spans: Spans { runs: span, fires: span } }));
        live
    }

    fn days(of_fires: &str) -> Option<(i64, i64)> {
        let mut numbers = of_fires.split([' ', ')']).filter_map(|word| word.parse::<i64>().ok());
        let from = numbers.next()?;
        Some((from / DAY_MS, numbers.nth(1)? / DAY_MS))
    }

    #[test]
    fn nothing_is_left_out_before_the_first_look() {
        let live = LiveDays::default();
        live.widen(std::iter::once((Uuid::nil(), NOW)));
        assert_eq!(live.of_runs("run.id", NOW), "");
        assert_eq!(live.of_fires("at", NOW, RowsSince::Margin), "");
    }

    #[test]
    fn the_days_from_the_oldest_to_the_present_are_named() {
        let found = live(93, 95);
        assert_eq!(days(&found.of_fires("at", NOW, RowsSince::Margin)), Some((93, 102)));
        let (from, to) = (first_key(93 * DAY_MS), first_key(102 * DAY_MS));
        let runs = found.of_runs("run.id", NOW);
        assert!(runs.contains(&from.to_string()) && runs.contains(&to.to_string()), "{runs}");
    }

    #[test]
    fn without_live_rows_only_the_present_days_are_named() {
        let live = LiveDays::default();
        live.replace(Some(ScannedRanges { at: NOW.0, spans: Spans::default() }));
        assert_eq!(days(&live.of_fires("at", NOW, RowsSince::Margin)), Some((99, 102)));
    }

    #[test]
    fn the_named_days_include_catch_ups_of_other_nodes() {
        let found = live(100, 100);
        let since = RowsSince::Instant(Timestamp(90 * DAY_MS + 5));
        assert_eq!(days(&found.of_fires("at", NOW, since)), Some((89, 102)));
        assert_eq!(found.of_fires("at", NOW, RowsSince::Anything), "");
    }

    #[test]
    fn the_named_days_include_own_writes_at_once() {
        let found = live(100, 100);
        found.widen(std::iter::once((first_key(80 * DAY_MS), Timestamp(70 * DAY_MS))));
        assert_eq!(days(&found.of_fires("at", NOW, RowsSince::Margin)), Some((70, 102)));
        assert!(found.of_runs("id", NOW).contains(&first_key(80 * DAY_MS).to_string()));
    }

    #[test]
    fn writes_during_a_query_outlive_its_result() {
        let found = live(100, 100);
        let looked = Some(ScannedRanges { at: NOW.0, spans: Spans::default() });
        found.widen(std::iter::once((Uuid::nil(), Timestamp(70 * DAY_MS))));
        found.replace(looked);
        assert_eq!(days(&found.of_fires("at", NOW, RowsSince::Margin)), Some((70, 102)));
        found.replace(looked);
        assert_eq!(days(&found.of_fires("at", NOW, RowsSince::Margin)), Some((99, 102)));
    }

    #[test]
    fn an_old_query_result_is_not_used() {
        let found = live(100, 100);
        for later in [NOW.0 + VALID + 1, NOW.0 - VALID - 1] {
            assert_eq!(found.of_runs("run.id", Timestamp(later)), "");
        }
        assert_ne!(found.of_runs("run.id", Timestamp(NOW.0 + VALID)), "");
    }
}
