//! The search language of lists: one grammar for the API, the command line and the console.
//!
//! ```text
//! state:failed tag:billing workflow:report "free text" next:<1h -zone:UTC
//! ```
//!
//! A search consists of terms separated by spaces, and all of them must match. A term is a text to
//! find, or a field, a colon and a condition: words, any of which may match
//! (`state:failed,timed_out`), or a comparison (`late:>5s`). A leading minus negates the term,
//! which then matches everything else, including rows without such a value. `no:tag` matches only
//! the rows without a value. A value with a space, a comma or a quote in it is written in quotes,
//! inside which a backslash escapes a quote or another backslash.
//!
//! A time is compared with a distance from now (`next:<1h` is within the next hour, `last:>2d` is
//! longer ago than two days), with the beginning of a day, or with an instant
//! (`started:>2026-01-01`, `started:<2026-01-01T12:00:00Z`). Without a comparison, a day means all
//! of that day, and `never` means that there is no such time. Days are in UTC.
//!
//! Promises: parsing is pure, so that every caller gets the same result; it never panics and its
//! cost is bounded; an error has the position of the wrong bytes and says what would be valid; and
//! a printed search parses to the same search. This module knows no table: the store decides what a
//! term means in SQL.
//!
//! - `field`: the fields of each list
//! - `lexer`: splits the text into terms and values, with their positions
//! - `parser`: interprets terms and values; `time`: durations, days, instants
//! - `print`: a search as text
//! - `error`: why a search was refused, and what was probably intended

mod error;
mod field;
mod lexer;
mod parser;
mod print;
#[cfg(test)]
mod tests;
mod time;

use chrono::{DateTime, NaiveDate, Utc};
use uuid::Uuid;

pub use error::SearchError;
pub(crate) use error::nearest;
pub use field::{SpanField, State, TimeField, Trigger, WordField};
pub use time::SearchSpan;

/// A list that can be searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchedList {
    /// The schedules of a namespace.
    Schedules,
    /// The runs of a namespace.
    Runs,
}

/// A search: all of its terms must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The terms in the order in which they were written.
    pub terms: Vec<Term>,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Whether the condition is negated.
    pub negated: bool,
    /// The condition to match.
    pub test: Criterion,
}

/// The condition of a term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// The text occurs somewhere, ignoring case.
    Text(String),
    /// The state is one of these.
    State(Vec<State>),
    /// The id is one of these.
    Id(Vec<Uuid>),
    /// The trigger is one of these.
    Trigger(Vec<Trigger>),
    /// The field has one of these words.
    Word(WordField, Vec<String>),
    /// One of these fields has no value.
    No(Vec<WordField>),
    /// The time compares with the operand.
    Time(TimeField, TimeOperand),
    /// The comparison holds for the duration.
    Span(SpanField, Comparator, SearchSpan),
}

/// The operand with which a time is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOperand {
    /// There is no such time.
    Never,
    /// The instant is on this day in UTC.
    On(NaiveDate),
    /// The comparison holds for the time's distance from now: ahead for future times, ago for past
    /// ones.
    Away(Comparator, SearchSpan),
    /// The comparison with an instant holds.
    At(Comparator, DateTime<Utc>),
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

impl Comparator {
    /// The reversed comparison: a longer distance ago means an earlier time.
    pub fn reversed(self) -> Self {
        match self {
            Self::Less => Self::More,
            Self::AtMost => Self::AtLeast,
            Self::More => Self::Less,
            Self::AtLeast => Self::AtMost,
        }
    }
}

impl Search {
    /// Parses a search of `list`. An empty search finds everything.
    pub fn parse(list: SearchedList, text: &str) -> Result<Self, SearchError> {
        parser::parse(list, text)
    }
}
