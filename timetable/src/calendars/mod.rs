//! Calendars: named sets of local time that several schedules share, and what they suppress.
//!
//! A calendar contains dates, days of the year, weekdays, ranges and windows of the day. It has no
//! zone: each schedule reads it on its own wall clock, so "25 December" is that day both in
//! Auckland and in Honolulu. `exclude` suppresses fires inside, `only` those outside. A suppressed
//! instant is still an instant of its timetable: it does not run, and it is accounted for.
//!
//! The wall-clock time at the instant of the fire decides. A time that the clock skips is judged
//! where it fires, right after the gap; a time that occurs twice is judged alike both times.
//!
//! - [`entries`]: what users write.
//! - [`text`]: parses dates and times of day.
//! - [`compiled`]: the entries compiled for search: inside or outside, and until when.

mod compiled;
mod entries;
mod text;

pub use compiled::Calendar;
pub use entries::{CalendarEntries, CalendarMode, DateRange, TimeWindow, Weekday};

/// Maximum number of calendars of a timetable.
pub(crate) const CALENDARS: usize = 8;
