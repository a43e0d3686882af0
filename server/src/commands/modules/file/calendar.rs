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
    /// `exclude`: the named times are suppressed; `only`: all other times are.
    #[schemars(with = "Words<Mode>")]
    mode: Mode,
    /// Days: `2026-12-24`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dates: Vec<String>,
    /// Days of every year: `12-25`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    yearly: Vec<String>,
    /// Days of every week.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Day>")]
    weekdays: Vec<Weekday>,
    /// From one day to another, inclusive, or from one local time up to but not including another.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Range>")]
    ranges: Vec<DateRange>,
    /// Times of day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<Window>")]
    windows: Vec<TimeWindow>,
}

/// The days of the week, as the calculator parses them.
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
    /// A day, from its beginning, or a local time.
    from: String,
    /// A day, up to its end, or a local time, exclusive.
    to: String,
}

/// `09:00` to `17:00`; `22:00` to `06:00` continues into the next day.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "TimeWindow")]
#[expect(dead_code, reason = "only its schema is asked for")]
pub(super) struct Window {
    /// Its first minute or second.
    from: String,
    /// Its end, exclusive; `24:00` is the end of the day.
    to: String,
    /// The days on which it begins; every day if none is given.
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
