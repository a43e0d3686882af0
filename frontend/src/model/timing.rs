//! The fires that a timing leads to, and its warnings and errors.

use serde::Deserialize;

use super::FireKind;
use crate::time::Moment;

/// An upcoming instant, with its wall-clock time in the schedule's zone.
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

/// The linter's warning about a valid timing.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Warning {
    pub(crate) code: String,
    pub(crate) message: String,
    /// The field's path, as in `expressions[0]`.
    pub(crate) field: String,
    pub(crate) suggestion: Option<String>,
}

impl Warning {
    /// Whether it warns that no fire will ever come, which every list shows.
    pub(crate) fn is_never(&self) -> bool {
        let never = ["never_fires", "never_allowed", "outside_bounds"];
        never.iter().any(|code| self.code.eq_ignore_ascii_case(code))
    }
}

/// Why a timing is invalid, and where.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Problem {
    pub(crate) field: String,
    pub(crate) problem: String,
    pub(crate) help: String,
    /// A range of bytes within the value.
    pub(crate) start: Option<usize>,
    pub(crate) end: Option<usize>,
}

/// The preview of a timing while it is typed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Preview {
    pub(crate) description: Option<String>,
    pub(crate) fires: Vec<PreviewFire>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) problem: Option<Problem>,
    pub(crate) fires_per_year: Option<i64>,
}

/// What an unsaved timing would add to each minute of the next week.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Candidate {
    /// The busiest minute in which it fires; null if it does not fire in that week.
    pub(crate) busiest: Option<CandidateStart>,
    /// Quietest first.
    pub(crate) quieter: Vec<QuieterShift>,
}

/// A minute in which it fires.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct CandidateStart {
    pub(crate) at: Moment,
    /// Number of starts without it.
    pub(crate) before: i64,
    /// Number of starts with it.
    pub(crate) after: i64,
}

/// A shift in minutes, negative for earlier, after which its busiest minute has fewer starts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct QuieterShift {
    pub(crate) minutes: i64,
    pub(crate) starts: i64,
}
