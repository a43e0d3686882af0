//! What the store keeps as JSON, such as definitions.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::CommandError;

/// Parses stored JSON. `whose` names the object that it belongs to, for the error.
pub(crate) fn read<T: DeserializeOwned>(
    json: Value,
    whose: impl FnOnce() -> String,
) -> Result<T, CommandError> {
    serde_json::from_value(json)
        .map_err(|source| CommandError::Unreadable { what: whose(), source })
}
