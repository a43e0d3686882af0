use entity::calendar::Mode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timetable::{CalendarEntries, DateRange, TimeWindow, Weekday};

use super::scalars::Words;
use crate::commands::CalendarSpec;

/// Suppresses fires of the schedules that name it: local time, on the clock of each schedule.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CalendarEntry {
    /// `exclude` suppresses the fires at the times that the calendar names, `only` those at all
    /// other times.
    #[schemars(with = "Words<Mode>")]
    mode: Mode,
    /// Single days, such as `2026-12-24`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dates: Vec<String>,
    /// Days of every year, such as `12-25`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    yearly: Vec<String>,
    /// Days of every week, such as `sat`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Day>")]
    weekdays: Vec<Weekday>,
    /// Periods: from one day to another, or from one local time to another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Range>")]
    ranges: Vec<DateRange>,
    /// Times of day, such as from `09:00` to `17:00`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<WindowSchema>")]
    windows: Vec<TimeWindow>,
}

/// A day of the week, in short or in full.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "Weekday")]
#[expect(dead_code, reason = "only its schema is asked for")]
enum Day {
    Sun,
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sunday,
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
}

/// `2026-07-01` to `2026-07-31`, or `2026-12-20T18:00` to `2027-01-02T08:00`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "DateRange")]
#[expect(dead_code, reason = "only its schema is asked for")]
struct Range {
    /// The first day, or the local time at which the period begins.
    from: String,
    /// The last day, or the local time at which the period ends; that time itself is outside.
    to: String,
}

/// `09:00` to `17:00`; `22:00` to `06:00` continues into the next day.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "TimeWindow")]
#[expect(dead_code, reason = "only its schema is asked for")]
pub(super) struct WindowSchema {
    /// The time of day at which the window begins, such as `09:00`.
    from: String,
    /// The time of day at which the window ends, which is itself outside; `24:00` is the end of the
    /// day.
    to: String,
    /// The days on which the window begins; every day if left out.
    #[schemars(default)]
    weekdays: Vec<Day>,
}

impl CalendarEntry {
    pub(in super::super) fn spec(self, name: &str) -> CalendarSpec {
        let Self { mode, dates, yearly, weekdays, ranges, windows } = self;
        let entries = CalendarEntries { dates, yearly, weekdays, ranges, windows };
        CalendarSpec { name: name.to_owned(), mode, entries }
    }

    /// The entry that declares the calendar.
    pub(in super::super) fn of(spec: CalendarSpec) -> Self {
        let CalendarEntries { dates, yearly, weekdays, ranges, windows } = spec.entries;
        Self { mode: spec.mode, dates, yearly, weekdays, ranges, windows }
    }
}
