//! The search language of lists: one grammar for the API, the command line and the console.
//!
//! ```text
//! state:failed tag:billing workflow:report "free text" next:<1h -zone:UTC
//! ```
//!
//! A search is terms between spaces, and all of them must hold. A term is text to be found, or a
//! field, a colon and what it is to be: words of which any may be (`state:failed,timed_out`), or a
//! comparison (`late:>5s`). A minus before it turns it round: then everything else is found, what
//! has no such value included. What has a space, a comma or a quote in it stands in quotes, inside
//! which a backslash goes before a quote and before another backslash.
//!
//! A time is compared with a distance from now (`next:<1h` is within the hour to come, `last:>2d`
//! is longer ago than two days), with a day, of which the comparison means the begin, or with an
//! instant (`started:>2026-01-01`, `started:<2026-01-01T12:00:00Z`); without a comparison a day
//! means all of it, and `never` that there is no such time. Days are those of UTC.
//!
//! Promises: it is pure, so that whoever asks gets the same answer; it never panics and its cost is
//! bounded; what it refuses, it refuses with the bytes that are wrong and what would be right; and
//! a search that is printed reads back as itself. It knows no table: what a term means in SQL is
//! the store's to say.
//!
//! - `field`: what can be asked of which list
//! - `lexer`: the text in terms and values, with their places
//! - `parser`: what these mean; `time`: durations, days, instants
//! - `print`: a search as text
//! - `error`: why it was refused, and what was likely meant

mod error;
mod field;
mod lexer;
mod parser;
mod print;
#[cfg(test)]
mod tests;
mod time;

use chrono::{DateTime, NaiveDate, Utc};

pub use error::SearchError;
pub use field::{SpanField, State, TimeField, Trigger, WordField};
pub use time::Span;

/// A list that can be searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// The schedules of a namespace.
    Schedules,
    /// Its runs.
    Runs,
}

/// What is sought: all of its terms hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// In the order in which they were written.
    pub terms: Vec<Term>,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Whether it is turned round.
    pub negated: bool,
    /// What holds, or does not.
    pub test: Test,
}

/// What a term asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// The text stands somewhere, in any case.
    Text(String),
    /// It stands so, in one of these ways.
    State(Vec<State>),
    /// It was started so, in one of these ways.
    Trigger(Vec<Trigger>),
    /// The field has one of these words.
    Word(WordField, Vec<String>),
    /// The time is so.
    Time(TimeField, Moment),
    /// The duration is so.
    Span(SpanField, Order, Span),
}

/// What a time is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// There is none.
    Never,
    /// It is on that day of UTC.
    On(NaiveDate),
    /// It is so far from now: ahead for what is to come, ago for what was.
    Away(Order, Span),
    /// It is so compared with an instant.
    At(Order, DateTime<Utc>),
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

impl Order {
    /// The same comparison seen from the other side: more of a distance ago is an earlier time.
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
    /// Reads a search of `list`. An empty one finds everything.
    pub fn parse(list: List, text: &str) -> Result<Self, SearchError> {
        parser::parse(list, text)
    }
}
