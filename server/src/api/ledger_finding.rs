use async_graphql::{Enum, SimpleObject};
use entity::schedule::Model;
use uuid::Uuid;

use super::{scalar::Instant, schedule::Schedule};
use crate::model::ledger_check::{self, LedgerFault};

/// A fault of the ledger.
#[derive(SimpleObject)]
pub(super) struct LedgerFinding {
    /// The schedule.
    schedule: Schedule,
    at: Instant,
    /// What is wrong, as a code.
    fault: FaultCode,
    /// What is wrong, in words.
    text: String,
    /// The fire's id; null if there is no row.
    fire_id: Option<Uuid>,
    /// The version of the schedule that the row names; null if there is no row.
    version: Option<i32>,
}

/// What is wrong with an instant of the ledger.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(name = "LedgerFault", remote = "LedgerFault")]
pub(super) enum FaultCode {
    /// The schedule was due, and no row accounts for it.
    NoRow,
    /// A row is for an instant at which the schedule was not due.
    NotDue,
    /// A row of several instants does not have as many as it says.
    WrongCount,
    /// Two rows account for the instant.
    Twice,
    /// A row says that a calendar suppressed the instant, and none did.
    NotSuppressed,
    /// The fire ran, and a calendar suppressed its instant.
    RanSuppressed,
}

impl LedgerFinding {
    /// The finding about a schedule.
    pub(super) fn of(row: Model, finding: ledger_check::LedgerFinding) -> Self {
        let text = match (finding.fault, finding.row) {
            (LedgerFault::WrongCount, Some(fire)) => format!(
                "the row accounts for {} instants until {}, and the schedule was due at another \
                 number of instants",
                fire.count,
                fire.last_scheduled_at.utc().to_rfc3339(),
            ),
            (LedgerFault::WrongCount, None) => {
                "the row accounts for a wrong number of instants".to_owned()
            }
            (LedgerFault::NoRow, _) => {
                "the schedule was due, and no row accounts for it".to_owned()
            }
            (LedgerFault::NotDue, _) => "there is a row, and the schedule was not due".to_owned(),
            (LedgerFault::Twice, _) => "two rows account for it".to_owned(),
            (LedgerFault::NotSuppressed, _) => {
                "the row says that a calendar suppressed it, and none did at that time".to_owned()
            }
            (LedgerFault::RanSuppressed, _) => {
                "the fire ran, and a calendar suppressed it at that time".to_owned()
            }
        };
        Self {
            schedule: Schedule(row),
            at: finding.at.into(),
            fault: finding.fault.into(),
            text,
            fire_id: finding.row.map(|fire| fire.id),
            version: finding.row.map(|fire| fire.schedule_version),
        }
    }
}
