//! A cron expression compiled for search: which civil times match it?
//!
//! croner parses the expression and says what matches; there is no second matcher. What a day
//! field means (`L`, `15W`, `5#3`, the rule that joins the two) depends on nothing but the length
//! of the month and the weekday on which it begins, so a month has 28 shapes, and all of croner's
//! answers fit in 28 masks of 32 bits. [`compile`] asks croner once and keeps the answers. (Years
//! alone croner is not asked about: they are a set of numbers, and its table of five thousand
//! years is most of what it costs.) From then on search, backward search and counting walk bits:
//!
//! - nothing is slow, because no search visits a day that does not match: a year without a match
//!   costs one table look-up, and there are 14 shapes of year;
//! - "this date never occurs" is decided, not given up on;
//! - four hundred bytes stay in memory instead of croner's 5 kB.
//!
//! Times here are civil: seconds since 1970-01-01 00:00 on the wall clock, as if every day had
//! 86,400 seconds. Zones and clock changes are the business of [`crate::lane`].
//!
//! - [`compile`]: from the checked text, through croner, to the masks.
//! - [`days`]: which dates match: next, previous, how many.
//! - [`clock`]: which times of the day match: next, previous, how many.
//! - [`search`]: both together.

mod clock;
mod compile;
mod days;
mod search;

pub(crate) use clock::Clock;
pub(crate) use days::Days;

/// A compiled cron expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub(crate) days: Days,
    pub(crate) clock: Clock,
    /// Fixed times are protected when the clock changes; wildcard times follow the clock.
    pub(crate) fixed: bool,
}
