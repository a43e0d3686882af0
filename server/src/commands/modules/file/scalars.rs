//! Values that are text in a module's file: durations, and one or several expressions.

use std::{borrow::Cow, fmt, marker::PhantomData, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::config::Span;

/// The pattern of a duration. Further limits, such as whole seconds, are only checked by the
/// server.
const DURATION: &str = r"^(([0-9]+\.?[0-9]*|\.[0-9]+)(ms|s|m|h|d|w))+$";

/// A duration in whole seconds, for schedules: a fraction is refused, not truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seconds(pub(crate) i64);

/// A duration in whole days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Days(pub(crate) i64);

/// A duration in whole minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Minutes(pub(crate) i64);

/// A duration to the millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Millis(pub(crate) i64);

/// One expression or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expressions(pub(crate) Vec<String>);

const MINUTE: i64 = 60 * 1_000;
const DAY: i64 = 24 * 60 * MINUTE;

fn ms(span: Span) -> i64 {
    i64::try_from(span.0.as_millis()).unwrap_or(i64::MAX)
}

fn span(ms: i64) -> Span {
    Span(Duration::from_millis(ms.unsigned_abs()))
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let span = Span::deserialize(deserializer)?;
        if span.0.subsec_nanos() != 0 {
            let text = format!("'{span}' has a part of a second; give whole seconds here");
            return Err(de::Error::custom(text));
        }
        Ok(Self(i64::try_from(span.0.as_secs()).unwrap_or(i64::MAX)))
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Span(Duration::from_secs(self.0.unsigned_abs())))
    }
}

impl<'de> Deserialize<'de> for Days {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let span = Span::deserialize(deserializer)?;
        let ms = ms(span);
        if ms % DAY != 0 {
            return Err(de::Error::custom(format!("'{span}' is not whole days, such as 30d")));
        }
        Ok(Self(ms / DAY))
    }
}

impl Serialize for Days {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&span(self.0.saturating_mul(DAY)))
    }
}

impl<'de> Deserialize<'de> for Minutes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let span = Span::deserialize(deserializer)?;
        let ms = ms(span);
        if ms % MINUTE != 0 {
            return Err(de::Error::custom(format!("'{span}' is not whole minutes, such as 30m")));
        }
        Ok(Self(ms / MINUTE))
    }
}

impl Serialize for Minutes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&span(self.0.saturating_mul(MINUTE)))
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(ms(Span::deserialize(deserializer)?)))
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&span(self.0))
    }
}

fn duration(description: &str) -> Schema {
    json_schema!({ "type": "string", "pattern": DURATION, "description": description })
}

impl JsonSchema for Seconds {
    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        duration("A duration in whole seconds, such as 30s, 1h30m or 7d.")
    }
}

impl JsonSchema for Days {
    fn schema_name() -> Cow<'static, str> {
        "Days".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        duration("A duration in whole days, such as 90d.")
    }
}

impl JsonSchema for Minutes {
    fn schema_name() -> Cow<'static, str> {
        "Minutes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        duration("A duration in whole minutes, such as 30m or 24h.")
    }
}

impl JsonSchema for Millis {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        duration("A duration, such as 500ms, 30s, 1h30m or 7d.")
    }
}

impl Serialize for Expressions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => serializer.serialize_str(one),
            several => several.serialize(serializer),
        }
    }
}

impl JsonSchema for Expressions {
    fn schema_name() -> Cow<'static, str> {
        "Expressions".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A cron expression of 5, 6 or 7 fields, a nickname such as `@daily`, \
                            `@every` with a duration, or `@at` with an instant; or a list of these.",
            "anyOf": [
                { "type": "string", "maxLength": 256 },
                { "type": "array", "items": { "type": "string", "maxLength": 256 }, "minItems": 1 },
            ],
        })
    }
}

impl<'de> Deserialize<'de> for Expressions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> de::Visitor<'de> for OneOrMany {
            type Value = Expressions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an expression such as \"0 2 * * *\", or a list of these")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Expressions, E> {
                Ok(Expressions(vec![text.to_owned()]))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<Expressions, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Expressions(texts))
            }
        }
        deserializer.deserialize_any(OneOrMany)
    }
}

/// The schema of an enum from another crate: its variants as they are serialized.
pub(super) struct Words<E>(PhantomData<E>);

impl<E: sea_orm::Iterable + Serialize> JsonSchema for Words<E> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<_> = E::iter().map(|word| serde_json::json!(word)).collect();
        json_schema!({ "enum": words })
    }
}
