//! The fires of a timing, and its warnings and errors.

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
    /// The calendar that suppresses the fire, if any.
    #[serde(rename = "suppressedBy")]
    pub(crate) suppressed_by: Option<String>,
}

/// A day of the schedule's zone, and how often the schedule fires on it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FireDay {
    /// The date: `2026-03-29`.
    pub(crate) date: String,
    pub(crate) from: Moment,
    /// The end of the day, exclusive.
    pub(crate) until: Moment,
    /// The number of fires that no calendar suppresses.
    pub(crate) fires: i64,
    pub(crate) suppressed: i64,
    /// The calendar that suppresses the first of these.
    pub(crate) suppressed_by: Option<String>,
}

/// The linter's warning about a valid timing.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Warning {
    pub(crate) code: String,
    pub(crate) message: String,
    /// The field's path, such as `expressions[0]`.
    pub(crate) field: String,
    pub(crate) suggestion: Option<String>,
}

impl Warning {
    /// Whether the warning says that the schedule will never fire. Every list shows such a warning.
    pub(crate) fn is_never(&self) -> bool {
        let never = ["never_fires", "never_allowed", "outside_bounds"];
        never.iter().any(|code| self.code.eq_ignore_ascii_case(code))
    }
}

/// Why a timing is invalid, with the position of the mistake.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Problem {
    pub(crate) field: String,
    pub(crate) problem: String,
    pub(crate) help: String,
    /// A range of bytes within the value.
    pub(crate) start: Option<usize>,
    pub(crate) end: Option<usize>,
}

/// The effect of another timing on a schedule's fires of the next 30 days.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DefinitionEffect {
    /// The reason why the timing cannot be used; then all other fields are empty.
    pub(crate) problem: Option<Problem>,
    pub(crate) added: i64,
    pub(crate) removed: i64,
    /// The first added fires, at most 20. The same limit applies to removed fires.
    pub(crate) added_fires: Vec<PreviewFire>,
    pub(crate) removed_fires: Vec<PreviewFire>,
    pub(crate) compared_until: Moment,
    /// Whether the whole range was compared.
    pub(crate) is_complete: bool,
}

/// The preview of a timing while the user types it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Preview {
    pub(crate) description: Option<String>,
    pub(crate) fires: Vec<PreviewFire>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) problem: Option<Problem>,
    pub(crate) fires_per_year: Option<i64>,
}

/// The starts that an unsaved timing would add to each minute of the next week.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Candidate {
    /// The busiest minute in which the timing fires; null if the timing does not fire in that week.
    pub(crate) busiest: Option<CandidateStart>,
    /// The shifts that lead to quieter minutes, the quietest first.
    pub(crate) quieter: Vec<QuieterShift>,
    /// How long a run usually takes; null if that is not known.
    pub(crate) usual_ms: Option<i64>,
    /// How long the runs of all fires of the week take together.
    pub(crate) work_ms: Option<i64>,
}

/// A minute in which the timing fires.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CandidateStart {
    pub(crate) at: Moment,
    /// The number of starts without the timing.
    pub(crate) before: i64,
    /// The number of starts with the timing.
    pub(crate) after: i64,
    /// How long the runs of these starts take together, as far as that is known.
    pub(crate) work_ms: i64,
}

/// A shift in minutes, negative for earlier, after which the busiest minute has fewer starts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct QuieterShift {
    pub(crate) minutes: i64,
    pub(crate) starts: i64,
}
