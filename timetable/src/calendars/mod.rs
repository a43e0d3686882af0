//! Calendars: named sets of local time that several schedules share, and what they suppress.
//!
//! A calendar holds dates, days of the year, weekdays, ranges and windows of the day. It knows no
//! zone: each schedule reads it on its own wall clock, so "25 December" is that day in Auckland
//! and in Honolulu. `exclude` suppresses what lies inside, `only` what lies outside. An instant
//! that is suppressed stays an instant of its timetable: it does not run, and it is accounted for.
//!
//! What decides is what the wall clock shows at the instant of the fire: a time that the clock
//! skips is judged where it fires, right after the gap; one that comes twice is judged alike both
//! times.
//!
//! - [`entries`]: what people write.
//! - [`text`]: dates and times of day, read.
//! - [`compiled`]: the same for search: inside or outside, and until when.

mod compiled;
mod entries;
mod text;

pub use compiled::Calendar;
pub use entries::{CalendarEntries, CalendarMode, DateRange, TimeWindow, Weekday};

/// How many calendars a timetable may have.
pub(crate) const CALENDARS: usize = 8;
