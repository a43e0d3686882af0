use std::{fmt, ops::Range};

/// How much of a refused value an error repeats.
const ECHO: usize = 64;

/// Why a definition was refused: which field, where in it, what is wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimingError {
    /// The field of the [`Definition`](crate::Definition): `expressions[0]`, `zone`, `end`, ...
    pub field: String,
    /// The bytes within the field's value that are wrong, where one place can be named.
    pub position: Option<Range<usize>>,
    /// The refused value, cut to 64 characters.
    pub value: Box<str>,
    /// What is wrong, as a fragment that reads after a colon.
    pub problem: String,
    /// What to do about it.
    pub help: String,
    /// Whether the text is well formed and refused because no date can ever match it.
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
        // The value is quoted with escapes, so an error is one line whatever was typed.
        write!(f, "{} {:?}", self.field, self.value)?;
        if let Some(position) = &self.position {
            write!(f, " at byte {}", position.start)?;
        }
        write!(f, ": {}; {}", self.problem, self.help)
    }
}

impl std::error::Error for TimingError {}

/// An error before it knows which field it belongs to.
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

/// At most 64 characters of what was typed, with a mark where more was.
pub(crate) fn cut(value: &str) -> String {
    match value.char_indices().nth(ECHO) {
        None => value.to_owned(),
        Some((end, _)) => {
            // The mark takes the place of the last character: the limit holds with it.
            let end = value[..end].char_indices().next_back().map_or(0, |(start, _)| start);
            format!("{}…", &value[..end])
        }
    }
}
