use serde::{Deserialize, Serialize};

/// Which fires a calendar suppresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CalendarMode {
    /// Suppresses fires inside the calendar's entries: holidays, a blackout.
    Exclude,
    /// Suppresses fires outside the calendar's entries: business days, a maintenance window.
    Only,
}

/// A day of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "their names say it")]
pub enum Weekday {
    #[serde(alias = "sunday")]
    Sun,
    #[serde(alias = "monday")]
    Mon,
    #[serde(alias = "tuesday")]
    Tue,
    #[serde(alias = "wednesday")]
    Wed,
    #[serde(alias = "thursday")]
    Thu,
    #[serde(alias = "friday")]
    Fri,
    #[serde(alias = "saturday")]
    Sat,
}

impl Weekday {
    /// All seven days of the week, from Sunday.
    pub(super) const ALL: [Weekday; 7] = [
        Weekday::Sun,
        Weekday::Mon,
        Weekday::Tue,
        Weekday::Wed,
        Weekday::Thu,
        Weekday::Fri,
        Weekday::Sat,
    ];
}

/// The entries of a calendar. A local time is in the calendar if any entry contains it.
/// Entries are read on the wall clock of each schedule that uses the calendar.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CalendarEntries {
    /// Single dates, such as `2026-12-24`.
    pub dates: Vec<String>,
    /// Days of every year, such as `12-25`. `02-29` occurs in leap years only.
    pub yearly: Vec<String>,
    /// Days of every week.
    pub weekdays: Vec<Weekday>,
    /// Ranges of days (last day included) or of local times (end excluded).
    pub ranges: Vec<DateRange>,
    /// Windows of the day, such as 09:00 to 17:00.
    pub windows: Vec<TimeWindow>,
}

/// A range such as `2026-07-01` to `2026-07-31`, or `2026-12-20T18:00` to `2027-01-02T08:00`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DateRange {
    /// The first day, from midnight, or the first local time.
    pub from: String,
    /// The last day, which is included, or a local time, which is not.
    pub to: String,
}

/// A window such as `09:00` to `17:00`; `22:00` to `06:00` continues into the next day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeWindow {
    /// The first minute or second of the window.
    pub from: String,
    /// The end of the window, exclusive; `24:00` is the end of the day.
    pub to: String,
    /// The days on which the window begins; every day if empty.
    #[serde(default)]
    pub weekdays: Vec<Weekday>,
}
