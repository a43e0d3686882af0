//! A cron expression compiled for search: which civil times match it?
//!
//! croner parses the expression and decides what matches; there is no second matcher. The meaning
//! of a day field (`L`, `15W`, `5#3`, the rule that joins the two) depends only on the length of
//! the month and the weekday on which it begins. So a month has 28 shapes, and all of croner's
//! answers fit in 28 masks of 32 bits. [`compile`] queries croner once and keeps the answers. (Only
//! years are left out: they are a set of numbers, and croner's table of five thousand years is most
//! of its cost.) From then on, forward search, backward search and counting work on bits:
//!
//! - nothing is slow, because no search visits a day that does not match: a year without a match
//!   costs one table look-up, and there are 14 shapes of year;
//! - "this date never occurs" is a decision, not a search that was given up;
//! - a pattern takes four hundred bytes of memory instead of croner's 5 kB.
//!
//! Times here are civil: seconds since 1970-01-01 00:00 on the wall clock, as if every day had
//! 86,400 seconds. [`crate::lane`] handles zones and clock changes.
//!
//! - [`compile`]: from the checked text, through croner, to the masks.
//! - [`days`]: matching dates: next, previous, how many.
//! - [`clock`]: matching times of the day: next, previous, how many.
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
