//! Refused items in the answer to a bulk request.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ManyDone;
use crate::commands::CommandError;

/// Maximum number of refusals to list individually.
const REFUSALS: usize = 100;

/// An item for which the action was refused.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BulkRefusal {
    /// The schedule or run.
    pub id: Uuid,
    /// The kind of refusal: `CONFLICT`, `NOT_FOUND`, `BAD_USER_INPUT`.
    pub code: String,
    /// The error text.
    pub message: String,
}

/// Why an item is refused.
#[derive(Clone, Debug)]
pub(super) struct ItemRefusal {
    /// The kind of refusal.
    code: &'static str,
    /// The error text.
    message: String,
}

impl ManyDone {
    /// Counts a refused item, and lists it if it is one of the first.
    pub(super) fn refuse(&mut self, id: Uuid, refusal: ItemRefusal) {
        self.refused += 1;
        if self.refusals.len() < REFUSALS {
            let ItemRefusal { code, message } = refusal;
            self.refusals.push(BulkRefusal { id, code: code.to_owned(), message });
        }
    }
}

/// The reason for the refusal, if the error concerns this item alone. An error that would affect
/// all other items as well is returned as `Err`.
pub(super) fn refusal(error: CommandError) -> Result<ItemRefusal, CommandError> {
    let code = if matches!(error, CommandError::Conflict { .. }) {
        "CONFLICT"
    } else if matches!(error, CommandError::NotFound { .. }) {
        "NOT_FOUND"
    } else if matches!(error, CommandError::BadInput(_)) {
        "BAD_USER_INPUT"
    } else {
        return Err(error);
    };
    Ok(ItemRefusal { code, message: error.to_string() })
}
