//! What calendars were at the instants that a check is about.
//!
//! A calendar keeps its former versions, and the version in force at an instant decides about it,
//! however late the instant is claimed. Instants from before the oldest known version are not
//! judged.

use std::{collections::HashMap, sync::Arc};

use entity::{Timestamp, calendar, calendar_version};
use timetable::{Calendar, Timetable};
use uuid::Uuid;

use super::compare::MARGIN_MS;
use crate::model::calendars::of_definition;

/// The calendars that a check knows, by their keys.
pub type CalendarHistories = HashMap<Uuid, Arc<CalendarHistory>>;

/// A calendar and its former versions.
#[derive(Clone, Debug)]
pub struct CalendarHistory {
    /// The instant from which on the versions are known.
    known_from: Timestamp,
    /// The versions, newest first, each with its end; `None` for a version that cannot be read.
    versions: Vec<(Timestamp, Option<Arc<Calendar>>)>,
}

/// The answer of a calendar about an instant. Near a change, two versions may have decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CalendarAnswer {
    /// Whether a version that may have decided suppresses the instant.
    pub(super) suppresses: bool,
    /// Whether a version that may have decided lets the instant through.
    pub(super) allows: bool,
}

impl CalendarHistory {
    /// The calendar of a row with its former versions, in order, for instants from `since` on.
    /// Compiles each of these versions, which may take a millisecond each.
    pub fn of(row: &calendar::Model, past: &[calendar_version::Model], since: Timestamp) -> Self {
        let since = Timestamp(since.0.saturating_sub(MARGIN_MS));
        let compiled =
            |mode, definition: &serde_json::Value| of_definition(&row.name, mode, definition).ok();
        let mut versions = vec![(Timestamp(i64::MAX), compiled(row.mode, &row.definition))];
        let (mut oldest, mut until, mut reached) = (row.version, Timestamp(i64::MAX), None);
        for was in past.iter().rev().skip_while(|was| was.version >= row.version) {
            if was.version + 1 != oldest {
                break;
            }
            // If a clock was stepped back between two changes, the later one applies from its own
            // instant on.
            until = until.min(was.ended_at);
            if until <= since {
                reached = Some(until);
                break;
            }
            versions.push((until, compiled(was.mode, &was.definition)));
            oldest = was.version;
        }
        let known_from = match (reached, versions.as_slice()) {
            (Some(reached), _) => reached,
            // The first version also applies to the time before it.
            (None, _) if oldest == 1 => Timestamp(i64::MIN),
            // When the oldest known version began is not known: the end of the version before it
            // would be its begin. So only the versions after it are used.
            (None, [_, .., (until, _)]) => *until,
            (None, _) => row.updated_at,
        };
        Self { known_from, versions }
    }

    /// The answer about the instant `at` of the versions that may have been in force at `decided`,
    /// give or take the margin; `None` if these are not known.
    pub(super) fn answer(
        &self,
        timetable: &Timetable,
        decided: Timestamp,
        at: Timestamp,
    ) -> Option<CalendarAnswer> {
        let first = Timestamp(decided.0.saturating_sub(MARGIN_MS));
        let last = Timestamp(decided.0.saturating_add(MARGIN_MS));
        if first < self.known_from {
            return None;
        }
        let mut answer = CalendarAnswer { suppresses: false, allows: false };
        for (index, (until, version)) in self.versions.iter().enumerate() {
            let began = self.versions.get(index + 1).map(|(until, _)| *until);
            if *until < first {
                break;
            }
            if began.is_some_and(|began| last < began) {
                continue;
            }
            let suppresses = timetable.is_suppressed_by(version.as_ref()?, at.utc());
            answer.suppresses |= suppresses;
            answer.allows |= !suppresses;
        }
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::DateTime;
    use entity::calendar::Mode;
    use serde_json::json;
    use timetable::{Definition, DstPolicy};

    use super::*;

    const MINUTE: i64 = 60_000;

    fn at(minute: i64) -> Timestamp {
        Timestamp(minute * MINUTE)
    }

    /// The definition of a calendar that suppresses an hour of each day.
    fn hour(from: i64) -> serde_json::Value {
        let time = |hour: i64| format!("{hour:02}:00");
        json!({ "windows": [{ "from": time(from), "to": time(from + 1) }] })
    }

    fn row(version: i32, from: i64, updated: i64) -> calendar::Model {
        calendar::Model {
            id: Uuid::from_u128(5),
            namespace_id: Uuid::from_u128(2),
            name: "hour".to_owned(),
            mode: Mode::Exclude,
            definition: hour(from),
            version,
            module: None,
            created_at: at(0),
            updated_at: at(updated),
            deleted_at: None,
        }
    }

    fn was(version: i32, from: i64, ended: i64) -> calendar_version::Model {
        calendar_version::Model {
            calendar_id: Uuid::from_u128(5),
            version,
            mode: Mode::Exclude,
            definition: hour(from),
            ended_at: at(ended),
        }
    }

    /// The calendar's answer about a minute that was decided at the minute `decided`.
    fn says(calendar: &CalendarHistory, decided: i64, minute: i64) -> Option<CalendarAnswer> {
        let timetable = Timetable::new(&Definition {
            expressions: vec!["* * * * *".to_owned()],
            zone: "UTC".to_owned(),
            dst: DstPolicy::default(),
            anchor: DateTime::UNIX_EPOCH,
            start: None,
            end: None,
            jitter: Duration::ZERO,
            seed: [0; 16],
        });
        calendar.answer(&timetable.unwrap(), at(decided), at(minute))
    }

    const SUPPRESSES: Option<CalendarAnswer> =
        Some(CalendarAnswer { suppresses: true, allows: false });
    const ALLOWS: Option<CalendarAnswer> = Some(CalendarAnswer { suppresses: false, allows: true });
    const EITHER: Option<CalendarAnswer> = Some(CalendarAnswer { suppresses: true, allows: true });

    #[test]
    fn the_version_of_the_time_decides_and_near_a_change_both_may_have() {
        let all = [was(1, 0, 30), was(2, 1, 90)];
        let calendar = CalendarHistory::of(&row(3, 2, 90), &all, at(-100));
        assert_eq!(says(&calendar, 10, 10), SUPPRESSES, "the first version, from 00 to 01");
        assert_eq!(says(&calendar, 40, 40), ALLOWS, "the second, from 01 to 02");
        assert_eq!(says(&calendar, 80, 80), SUPPRESSES);
        assert_eq!(says(&calendar, 30, 30), EITHER, "it changed then");
        assert_eq!(says(&calendar, 95, 95), ALLOWS, "the third, from 02 to 03");
        assert_eq!(says(&calendar, -50, 10), SUPPRESSES, "the first applies to earlier times");
        assert_eq!(says(&calendar, 20, 100), ALLOWS, "it was decided in advance");
    }

    #[test]
    fn what_is_before_the_oldest_version_is_not_known() {
        let kept = [was(7, 0, 30), was(8, 1, 90)];
        let calendar = CalendarHistory::of(&row(9, 2, 90), &kept, at(-100));
        assert_eq!(says(&calendar, 20, 20), None, "when version 7 began is not known");
        assert_eq!(says(&calendar, 80, 80), SUPPRESSES);
        let alone = CalendarHistory::of(&row(9, 2, 90), &[], at(-100));
        assert_eq!(says(&alone, 80, 80), None);
        assert_eq!(says(&alone, 130, 130), SUPPRESSES);
        let cut = CalendarHistory::of(&row(9, 2, 90), &kept, at(60));
        assert_eq!(says(&cut, 20, 20), None, "it was read from minute 60 on");
        assert_eq!(says(&cut, 70, 70), SUPPRESSES);
    }

    #[test]
    fn a_version_that_was_overtaken_by_a_stepped_clock_was_never_in_force() {
        let all = [was(1, 0, 90), was(2, 1, 30)];
        let calendar = CalendarHistory::of(&row(3, 2, 30), &all, at(-100));
        assert_eq!(says(&calendar, 20, 20), SUPPRESSES);
        assert_eq!(says(&calendar, 70, 70), ALLOWS, "the third version, from minute 30 on");
    }

    #[test]
    fn a_version_that_cannot_be_read_says_nothing() {
        let mut bad = was(1, 0, 30);
        bad.definition = json!({ "windows": 7 });
        let calendar = CalendarHistory::of(&row(2, 1, 30), &[bad], at(-100));
        assert_eq!((says(&calendar, 10, 10), says(&calendar, 70, 70)), (None, SUPPRESSES));
    }
}
