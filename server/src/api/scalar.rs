use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};
use chrono::{DateTime, SecondsFormat, Utc};
use entity::Timestamp;

/// An instant, RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant(pub(crate) DateTime<Utc>);

/// An instant, RFC 3339 in UTC.
#[Scalar(name = "DateTime", specified_by_url = "https://scalars.graphql.org/andimarek/date-time")]
impl ScalarType for Instant {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else { return Err(InputValueError::expected_type(value)) };
        let at = DateTime::parse_from_rfc3339(text).map_err(|error| {
            format!("{text:?} is not an instant ({error}); write it as 2026-03-29T01:00:00Z")
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

/// Up to this distance from 0, every JSON reader represents integers exactly: 2^53 - 1.
const FARTHEST: i64 = 9_007_199_254_740_991;

/// A whole number from -(2^53 - 1) to 2^53 - 1, as a JSON number: milliseconds, bytes, and counts
/// of fires and runs, which exceed the 32 bits of `Int`. Inputs outside the range are refused, and
/// outputs outside it are clamped to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Long(pub(crate) i64);

/// A whole number from -(2^53 - 1) to 2^53 - 1, as a JSON number: milliseconds, bytes, and counts
/// of fires and runs, which exceed the 32 bits of `Int`. Inputs outside the range are refused, and
/// outputs outside it are clamped to it.
#[Scalar(name = "Long", specified_by_url = "https://www.rfc-editor.org/rfc/rfc8259#section-6")]
impl ScalarType for Long {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::Number(number) = &value else {
            return Err(InputValueError::expected_type(value));
        };
        let within = number.as_i64().filter(|number| (-FARTHEST..=FARTHEST).contains(number));
        within.map(Self).ok_or_else(|| {
            let text = format!("{number} is not a whole number from -{FARTHEST} to {FARTHEST}");
            InputValueError::custom(text)
        })
    }

    fn to_value(&self) -> Value {
        self.0.clamp(-FARTHEST, FARTHEST).into()
    }
}

impl From<i64> for Long {
    fn from(number: i64) -> Self {
        Self(number)
    }
}

impl From<u64> for Long {
    fn from(number: u64) -> Self {
        Self(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Long {
    fn from(number: usize) -> Self {
        Self(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_number_is_one_that_every_reader_of_json_knows() {
        for number in [0, -1, i64::from(i32::MAX) + 1, FARTHEST, -FARTHEST] {
            assert_eq!(Long::parse(number.into()).unwrap(), Long(number));
            assert_eq!(Long(number).to_value(), number.into());
        }
        let beyond = [
            Value::from(FARTHEST + 1),
            (-FARTHEST - 1).into(),
            u64::MAX.into(),
            1.5.into(),
            "7".into(),
            Value::Null,
        ];
        for value in beyond {
            assert!(Long::parse(value.clone()).is_err(), "{value}");
        }
        assert_eq!(Long(i64::MAX).to_value(), FARTHEST.into());
        assert_eq!(Long(i64::MIN).to_value(), (-FARTHEST).into());
        assert_eq!(Long::from(u64::MAX).to_value(), FARTHEST.into());
    }
}
