//! A row together with the fields that only the object's own page shows.

use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error};
use serde_json::Value;

/// One object of the API, deserialized as two values: the row that lists and events share, and the
/// rest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Full<R, M> {
    pub(crate) row: R,
    pub(crate) more: M,
}

impl<'de, R: DeserializeOwned, M: DeserializeOwned> Deserialize<'de> for Full<R, M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Value::deserialize(deserializer)?;
        Ok(Self {
            row: serde_json::from_value(object.clone()).map_err(Error::custom)?,
            more: serde_json::from_value(object).map_err(Error::custom)?,
        })
    }
}
