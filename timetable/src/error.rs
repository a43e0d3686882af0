use std::{fmt, ops::Range};

/// Maximum length of a refused value in an error text, in characters.
const ECHO: usize = 64;

/// Why a definition was refused: the field, the position, the problem, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimingError {
    /// The field of the [`Definition`](crate::Definition): `expressions[0]`, `zone`, `end`, ...
    pub field: String,
    /// The invalid bytes within the field's value, if they can be located.
    pub position: Option<Range<usize>>,
    /// The refused value, truncated to 64 characters.
    pub value: Box<str>,
    /// The problem, as a fragment to be printed after a colon.
    pub problem: String,
    /// How to correct the value.
    pub help: String,
    /// Whether the text is well-formed but refused because no date can ever match it.
    pub never_fires: bool,
}

impl TimingError {
    pub(crate) fn new(field: impl Into<String>, value: &str, fault: Fault) -> TimingError {
        TimingError {
            field: field.into(),
            position: fault.position,
            value: cut(value).into(),
            problem: fault.problem,
            help: fault.help,
            never_fires: fault.never_fires,
        }
    }
}

impl fmt::Display for TimingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The value is quoted with escapes, so an error is always a single line.
        write!(f, "{} {:?}", self.field, self.value)?;
        if let Some(position) = &self.position {
            write!(f, " at byte {}", position.start)?;
        }
        write!(f, ": {}; {}", self.problem, self.help)
    }
}

impl std::error::Error for TimingError {}

/// An error whose field is not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) position: Option<Range<usize>>,
    pub(crate) problem: String,
    pub(crate) help: String,
    pub(crate) never_fires: bool,
}

impl Fault {
    pub(crate) fn new(problem: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault { position: None, problem: problem.into(), help: help.into(), never_fires: false }
    }

    /// The fault of a well-formed text that no date can ever match.
    pub(crate) fn never_fires(problem: impl Into<String>, help: impl Into<String>) -> Fault {
        Fault { never_fires: true, ..Fault::new(problem, help) }
    }

    pub(crate) fn at(mut self, position: Range<usize>) -> Fault {
        self.position = Some(position);
        self
    }
}

/// The typed text, cut to 64 characters; the last one is an ellipsis if the text was longer.
pub(crate) fn cut(value: &str) -> String {
    match value.char_indices().nth(ECHO) {
        None => value.to_owned(),
        Some((end, _)) => {
            // The ellipsis replaces the last character, so the limit still holds.
            let end = value[..end].char_indices().next_back().map_or(0, |(start, _)| start);
            format!("{}…", &value[..end])
        }
    }
}
