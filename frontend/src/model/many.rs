//! The outcome of a bulk action.

use serde::Deserialize;

use super::Named;

/// How many were matched, changed and refused; for a dry run, how many would be.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ManyOutcome {
    pub(crate) matched: i64,
    pub(crate) too_many: bool,
    pub(crate) done: i64,
    pub(crate) refused: i64,
    pub(crate) refusals: Vec<Refusal>,
    /// Not done because the request ran out of time: sending the same action again continues with them.
    pub(crate) remaining: i64,
    pub(crate) sample: Vec<Named>,
}

/// Why one of them was refused.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Refusal {
    pub(crate) message: String,
}

impl ManyOutcome {
    /// Adds up two outcomes.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.matched += other.matched;
        self.too_many |= other.too_many;
        self.done += other.done;
        self.refused += other.refused;
        self.remaining += other.remaining;
        self.refusals.extend(other.refusals);
        self.sample.extend(other.sample);
        self
    }
}
