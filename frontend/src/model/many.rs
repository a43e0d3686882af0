//! The outcome of a bulk action.

use serde::Deserialize;

use super::Named;

/// How many objects were matched, changed and refused; for a dry run, how many would be.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ManyOutcome {
    pub(crate) matched: i64,
    pub(crate) too_many: bool,
    pub(crate) done: i64,
    pub(crate) refused: i64,
    pub(crate) refusals: Vec<Refusal>,
    /// The number of objects that were not reached because the request ran out of time. Sending the
    /// same action again continues with them.
    pub(crate) remaining: i64,
    pub(crate) sample: Vec<Match>,
}

/// A matched object: a schedule, or a run with the name of its schedule or workflow.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Match {
    name: Option<String>,
    workflow: Option<Named>,
    schedule: Option<Named>,
}

impl Match {
    pub(crate) fn title(&self) -> &str {
        let of_run = || self.schedule.as_ref().or(self.workflow.as_ref());
        let own = self.name.as_deref();
        own.or_else(|| of_run().map(|named| &*named.name)).unwrap_or_default()
    }
}

/// Why an object was refused.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Match;

    #[test]
    fn a_run_is_named_after_its_schedule_or_else_its_workflow() {
        let titles = [
            json!({ "name": "nightly" }),
            json!({ "workflow": { "name": "report" }, "schedule": { "name": "nightly" } }),
            json!({ "workflow": { "name": "report" }, "schedule": null }),
        ]
        .map(|value| serde_json::from_value::<Match>(value).unwrap().title().to_owned());
        assert_eq!(titles, ["nightly", "nightly", "report"]);
    }
}
