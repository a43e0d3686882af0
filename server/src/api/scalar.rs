use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};
use chrono::{DateTime, SecondsFormat, Utc};
use entity::Timestamp;

/// An instant, RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant(pub(crate) DateTime<Utc>);

/// An instant, RFC 3339 in UTC.
#[Scalar(name = "DateTime")]
impl ScalarType for Instant {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else { return Err(InputValueError::expected_type(value)) };
        let at = DateTime::parse_from_rfc3339(text).map_err(|error| {
            format!("{text:?} is no instant ({error}); write it as 2026-03-29T01:00:00Z")
        })?;
        Ok(Self(at.to_utc()))
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

impl From<Timestamp> for Instant {
    fn from(at: Timestamp) -> Self {
        Self(at.utc())
    }
}

impl From<DateTime<Utc>> for Instant {
    fn from(at: DateTime<Utc>) -> Self {
        Self(at)
    }
}

impl From<Instant> for Timestamp {
    fn from(at: Instant) -> Self {
        at.0.into()
    }
}
