//! Calendars: named sets of local time that several schedules share, and what they suppress.
//!
//! A calendar contains dates, days of the year, weekdays, ranges and windows of the day.
//! It has no zone: each schedule reads it on its own wall clock, so "25 December" is that day both
//! in Auckland and in Honolulu.
//! `exclude` suppresses the fires inside the entries, `only` those outside.
//! A suppressed instant is still an instant of its timetable: it is recorded, but does not run.
//!
//! The wall-clock time at which the fire happens decides.
//! A scheduled time that the clock skips fires right after the gap and is judged there.
//! Of a time that occurs twice, both fires are judged in the same way.
//!
//! - [`entries`]: calendars as users write them.
//! - [`text`]: parses dates and times of day.
//! - [`compiled`]: the entries compiled for search: whether a time is inside, and until when.

mod compiled;
mod entries;
mod text;

pub use compiled::Calendar;
pub use entries::{CalendarEntries, CalendarMode, DateRange, TimeWindow, Weekday};

/// Maximum number of calendars in a timetable.
pub const MAX_CALENDARS: usize = 8;
