//! The ledger of all schedules.

use serde::Deserialize;

use super::{Fire, ReasonCode, Row, Verdict, full::Full, run::ScheduleRef};

/// A row of the ledger with the schedule that it belongs to.
pub(crate) type LedgerRow = Full<Fire, LedgerMore>;

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct LedgerMore {
    pub(crate) namespace: String,
    pub(crate) schedule: Option<ScheduleRef>,
}

impl Row for LedgerRow {
    fn id(&self) -> &str {
        &self.row.id
    }
}

/// The number of instants of a range with each outcome.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LedgerTotals {
    pub(crate) expected: i64,
    pub(crate) ran: i64,
    pub(crate) skipped: i64,
    pub(crate) missed: i64,
    pub(crate) open: i64,
    pub(crate) is_complete: bool,
    pub(crate) groups: Vec<LedgerGroup>,
}

/// The number of instants with one verdict and reason.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct LedgerGroup {
    pub(crate) verdict: Verdict,
    pub(crate) reason: ReasonCode,
    pub(crate) count: i64,
}
