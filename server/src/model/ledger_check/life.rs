//! The timings that a schedule has had, and when each of them applied.

use std::{collections::HashSet, fmt::Display};

use entity::{Timestamp, schedule, schedule_version};
use timetable::{Cache, Timetable};
use uuid::Uuid;

use super::{
    calendar_history::CalendarHistories,
    compare::{CheckedRange, MARGIN_MS},
};
use crate::{
    model::{Spec, Timing},
    store::days::DAY_MS,
};

/// The description of a version that restores a deleted schedule.
pub(crate) const RESTORED: &str = "restored after it was deleted";

/// The field of a version's snapshot that has the keys of its calendars.
pub(crate) const CALENDAR_KEYS: &str = "calendar_ids";

/// A time during which a schedule had the same timing.
#[derive(Clone, Debug)]
pub struct TimingPeriod {
    /// The first version of the schedule in the period.
    pub first_version: i32,
    /// Computes the instants of the period.
    pub timetable: Timetable,
    /// The change that began the period: its instants come after this time.
    pub began: Timestamp,
    /// The change that ended the period; `None` if none has.
    pub ended: Option<Timestamp>,
    /// Whether the schedule may have stopped before the period ended, because it was deleted or has
    /// had its maximum of fires.
    pub may_stop: bool,
}

/// The calendars that a version of a schedule named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCalendars {
    /// The version.
    pub version: i32,
    /// The keys of the calendars. `None` if the version has only their names, which may belong to
    /// other calendars by now.
    pub keys: Option<Vec<Uuid>>,
}

/// What a check knows about a schedule.
#[derive(Clone, Debug)]
pub struct ScheduleLife {
    /// The periods, in order.
    pub(super) periods: Vec<TimingPeriod>,
    /// The calendars of each version, in order.
    pub(super) named: Vec<NamedCalendars>,
    /// Those of the calendars whose history is known.
    pub(super) calendars: CalendarHistories,
    /// The retention of each version, and when another version replaced it.
    pub(super) retentions: Vec<(Option<Timestamp>, Option<i64>)>,
    /// The current version.
    pub(super) version: i32,
    /// The next instant that has no row in the ledger yet.
    pub(super) cursor: Option<Timestamp>,
    /// False while the schedule is paused.
    pub(super) enabled: bool,
}

/// A version of a schedule's definition.
struct KnownVersion {
    version: i32,
    began: Timestamp,
    spec: Spec,
    /// The keys of its calendars, if they are known.
    calendars: Option<Vec<Uuid>>,
    is_restored: bool,
}

impl KnownVersion {
    /// Whether the version continues the instants of the one before.
    fn goes_on_from(&self, before: &Self) -> bool {
        !self.is_restored
            && self.spec.max_fires == before.spec.max_fires
            && bare(&self.spec.timing) == bare(&before.spec.timing)
    }
}

/// A timing without what changes none of its instants.
fn bare(timing: &Timing) -> Timing {
    Timing { jitter_seconds: 0, ..timing.clone() }
}

impl ScheduleLife {
    /// The life of a schedule, from those of its versions that were in force during the range to
    /// check. Without any, its current definition applies to the whole range. The row must be read
    /// before the rows of the ledger, so that a claim made in the meantime shows there.
    ///
    /// # Errors
    ///
    /// One of the versions can no longer be read.
    pub fn of(
        row: &schedule::Model,
        versions: Vec<schedule_version::Model>,
        timings: &Cache,
    ) -> Result<Self, String> {
        let known = known_versions(row, versions)?;
        let mut periods = Vec::<TimingPeriod>::new();
        for (index, one) in known.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|before| known.get(before));
            if before.is_some_and(|before| one.goes_on_from(before)) {
                continue;
            }
            let definition = one.spec.timing.definition(row.id, row.anchor_at.utc());
            let timetable =
                timings.timetable(&definition).map_err(|error| unreadable(one.version, &error))?;
            if let Some(last) = periods.last_mut() {
                last.ended = Some(one.began);
                last.may_stop |= one.is_restored;
            }
            periods.push(TimingPeriod {
                first_version: one.version,
                timetable,
                began: one.began,
                ended: None,
                may_stop: one.spec.max_fires.is_some_and(|max| max <= row.fire_count),
            });
        }
        // Within the margin, instants before and after the deletion may have rows, and need none.
        if let (Some(last), Some(deleted_at)) = (periods.last_mut(), row.deleted_at) {
            last.ended = Some(deleted_at.max(last.began));
        }
        let replaced = known.iter().skip(1).map(|next| Some(next.began)).chain([row.deleted_at]);
        let days = known.iter().map(|one| one.spec.retention_days);
        let mut retentions: Vec<_> = replaced.zip(days).collect();
        if row.deleted_at.is_some() {
            // Since then, the history is kept as long as that of its namespace.
            retentions.push((None, None));
        }
        let named = known
            .into_iter()
            .map(|one| NamedCalendars { version: one.version, keys: one.calendars });
        Ok(Self {
            periods,
            named: named.collect(),
            calendars: CalendarHistories::new(),
            retentions,
            version: row.version,
            cursor: row.next_scheduled_at,
            enabled: row.enabled,
        })
    }

    /// The keys of all calendars that the schedule named, as far as they are known.
    pub fn calendar_keys(&self) -> HashSet<Uuid> {
        self.named.iter().filter_map(|named| named.keys.as_ref()).flatten().copied().collect()
    }

    /// The same life, with what is known about its calendars. A calendar that is missing is not
    /// judged.
    #[must_use]
    pub fn with_calendars(self, calendars: CalendarHistories) -> Self {
        Self { calendars, ..self }
    }

    /// The instant from which on retention has removed no row, if it keeps `usual` days of history
    /// without a retention of the schedule's own. The clock of the node that removes rows may be a
    /// little ahead.
    pub fn kept_from(&self, usual: i32, now: Timestamp) -> Timestamp {
        let removed = self.retentions.iter().map(|(replaced, days)| {
            let days = days.unwrap_or(usual.into());
            replaced.unwrap_or(now).0.saturating_sub(days.saturating_mul(DAY_MS))
        });
        Timestamp(removed.max().unwrap_or(i64::MIN).saturating_add(MARGIN_MS))
    }

    /// Number of instants in a range, computed without visiting each.
    pub fn count(&self, range: CheckedRange) -> u64 {
        let count = |period: &TimingPeriod| {
            let after = Timestamp(range.from.0 - 1).max(period.began);
            let until = Timestamp(range.until.0 - 1).min(period.ended.unwrap_or(range.until));
            period.timetable.count(after.utc(), until.utc())
        };
        let counts = self.periods.iter().map(count);
        counts.fold(0, u64::saturating_add)
    }
}

/// The versions, in order. A version begins no earlier than the one before it, even if it was
/// written by a node whose clock was behind.
fn known_versions(
    row: &schedule::Model,
    versions: Vec<schedule_version::Model>,
) -> Result<Vec<KnownVersion>, String> {
    let mut known = Vec::with_capacity(versions.len());
    // A version that is newer than the row was written after the row was read.
    for past in versions.into_iter().filter(|past| past.version <= row.version) {
        let keys = past.snapshot.get(CALENDAR_KEYS).cloned();
        let keys = keys.and_then(|keys| serde_json::from_value(keys).ok());
        let spec = serde_json::from_value(past.snapshot);
        let spec: Spec = spec.map_err(|error| unreadable(past.version, &error))?;
        let calendars = match (past.version == row.version, spec.calendars.as_slice()) {
            (true, _) => Some(keys_of(row)),
            (false, []) => Some(vec![]),
            (false, _) => keys,
        };
        known.push(KnownVersion {
            version: past.version,
            began: past.changed_at,
            spec,
            calendars,
            is_restored: past.change == RESTORED,
        });
    }
    if known.is_empty() {
        known.push(KnownVersion {
            version: row.version,
            began: row.created_at,
            spec: Spec::of(row),
            calendars: Some(keys_of(row)),
            is_restored: false,
        });
    }
    known.sort_unstable_by_key(|one| one.version);
    let mut latest = Timestamp(i64::MIN);
    for one in &mut known {
        one.began = one.began.max(latest);
        latest = one.began;
    }
    Ok(known)
}

/// The keys of the calendars that a schedule names.
fn keys_of(row: &schedule::Model) -> Vec<Uuid> {
    row.calendars.as_ref().map_or_else(Vec::new, |keys| keys.0.clone())
}

fn unreadable(version: i32, error: &dyn Display) -> String {
    format!("version {version} of the schedule can no longer be read: {error}")
}

#[cfg(test)]
#[path = "life_tests.rs"]
mod tests;
