//! A cron expression compiled for search: which civil times match it?
//!
//! Croner parses the expression and decides which dates match; there is no second matcher.
//! The meaning of a day field (`L`, `15W`, `5#3`, the rule that joins the two fields) depends only
//! on the length of the month and the weekday of its 1st.
//! So a month has 28 shapes, and croner's answers for all of them fit in 28 masks of 32 bits.
//! [`compile`] queries croner once and keeps the answers.
//! (Only years are left out: they are a set of numbers, and croner's table of five thousand years
//! is most of its cost.) After that, forward search, backward search and counting work on bits:
//!
//! - Searches are fast, because they skip days that do not match: a year without a match costs one
//!   table look-up, and there are only 14 shapes of year.
//! - "This date never occurs" is a certain answer, not a search that gave up.
//! - A pattern takes four hundred bytes of memory instead of croner's 5 kB.
//!
//! Times here are civil: seconds since 1970-01-01 00:00 on the wall clock, as if every day had
//! 86,400 seconds. [`crate::lane`] handles zones and clock changes.
//!
//! - [`compile`]: from the checked text, through croner, to the masks.
//! - [`days`]: finds the next and the previous matching date, and counts them.
//! - [`clock`]: finds the next and the previous matching time of day, and counts them.
//! - [`search`]: combines dates and times.

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
    /// Whether the expression has fixed times: these are protected when the clock changes, while
    /// wildcard times follow the clock.
    pub(crate) fixed: bool,
}
