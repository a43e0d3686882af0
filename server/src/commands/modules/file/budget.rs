//! The entries of a file for budgets of tags.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    scalars::{Millis, Minutes},
    workflow::unless,
};
use crate::commands::BudgetLimits;

/// What the schedules with a tag may lose, fail or delay. At least one limit is needed; each may be
/// reached, and must not be exceeded.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BudgetEntry {
    /// Fires in the span that are missed or given up on: 0 to 1000000. The server's configuration
    /// applies if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missed: Option<i64>,
    /// Runs in the span that fail or time out: 0 to 1000000. The server's configuration applies if
    /// left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<i64>,
    /// Runs past their hard deadline, or on a node that is gone: 0 to 1000000. The server's
    /// configuration applies if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stalled: Option<i64>,
    /// How late 99 of 100 fires of the span may be handed over, 1ms to 24h; no limit if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    late: Option<Millis>,
    /// The length of the judged span, up to now, in whole minutes, 1m to 24h; 1h if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    span: Option<Minutes>,
}

/// The length of a span that a file leaves out, in minutes.
const SPAN: i64 = 60;

impl BudgetEntry {
    /// The limits that the entry declares.
    pub(in super::super) fn limits(&self) -> BudgetLimits {
        BudgetLimits {
            missed: self.missed,
            failed: self.failed,
            stalled: self.stalled,
            late_ms: self.late.map(|late| late.0),
            span_minutes: self.span.map_or(SPAN, |span| span.0),
        }
    }

    /// The entry that declares a budget.
    pub(in super::super) fn of(limits: &BudgetLimits) -> Self {
        let BudgetLimits { missed, failed, stalled, late_ms, span_minutes } = *limits;
        let span = unless(span_minutes, SPAN).map(Minutes);
        Self { missed, failed, stalled, late: late_ms.map(Millis), span }
    }
}
