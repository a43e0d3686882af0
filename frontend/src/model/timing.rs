//! What a timing would do, and what is odd or wrong about it.

use serde::Deserialize;

use super::FireKind;
use crate::time::Moment;

/// An instant that is to come, with the wall clock of the schedule's zone.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct PreviewFire {
    pub(crate) at: Moment,
    pub(crate) local: String,
    pub(crate) offset: String,
    pub(crate) kind: FireKind,
    /// The calendar that suppresses it.
    #[serde(rename = "suppressedBy")]
    pub(crate) suppressed_by: Option<String>,
}

/// The linter's word on a timing that is valid.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Warning {
    pub(crate) code: String,
    pub(crate) message: String,
    /// As `expressions[0]`.
    pub(crate) field: String,
    pub(crate) suggestion: Option<String>,
}

impl Warning {
    /// Whether it says that no fire will ever come, which every list shows.
    pub(crate) fn is_never(&self) -> bool {
        let never = ["never_fires", "never_allowed", "outside_bounds"];
        never.iter().any(|code| self.code.eq_ignore_ascii_case(code))
    }
}

/// Why a timing is not valid, and where.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Problem {
    pub(crate) field: String,
    pub(crate) problem: String,
    pub(crate) help: String,
    /// Bytes within the value.
    pub(crate) start: Option<usize>,
    pub(crate) end: Option<usize>,
}

/// The answer to a timing that is being typed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Preview {
    pub(crate) description: Option<String>,
    pub(crate) fires: Vec<PreviewFire>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) problem: Option<Problem>,
    pub(crate) fires_per_year: Option<i64>,
}

/// What a timing that is not saved yet would add to the minutes of the next week.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Candidate {
    /// The busiest of its minutes; none where it does not fire in that week.
    pub(crate) busiest: Option<CandidateStart>,
    /// The quietest first.
    pub(crate) quieter: Vec<QuieterShift>,
}

/// A minute in which it fires.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct CandidateStart {
    pub(crate) at: Moment,
    /// Starts without it.
    pub(crate) before: i64,
    /// Starts with it.
    pub(crate) after: i64,
}

/// A shift in minutes, negative for earlier, after which its busiest minute has fewer starts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct QuieterShift {
    pub(crate) minutes: i64,
    pub(crate) starts: i64,
}
