use std::{borrow::Cow, fmt, ops::RangeInclusive};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The statuses that count as success.
///
/// In JSON a number, a text such as `"200-299"`, or a list of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusSet(Vec<RangeInclusive<u16>>);

impl StatusSet {
    /// Whether `status` counts as success.
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }
}

impl Default for StatusSet {
    fn default() -> Self {
        Self(vec![200..=299])
    }
}

impl fmt::Display for StatusSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, range) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            if range.start() == range.end() {
                write!(f, "{comma}{}", range.start())?;
            } else {
                write!(f, "{comma}{}-{}", range.start(), range.end())?;
            }
        }
        Ok(())
    }
}

impl Serialize for StatusSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|range| Self(vec![range.clone()]).to_string()))
    }
}

impl JsonSchema for StatusSet {
    fn schema_name() -> Cow<'static, str> {
        "StatusSet".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let status = serde_json::json!({ "type": "integer", "minimum": 100, "maximum": 599 });
        let range = serde_json::json!({ "type": "string", "pattern": "^ *[1-5][0-9]{2} *(- *[1-5][0-9]{2} *)?$" });
        json_schema!({
            "description": "A status such as 200, a range such as \"200-299\", or a list of these.",
            "anyOf": [
                status,
                range,
                {
                    "type": "array", "items": { "anyOf": [status, range] },
                    "minItems": 1, "maxItems": MAX_RANGES,
                },
            ],
        })
    }
}

impl<'de> Deserialize<'de> for StatusSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Statuses)
    }
}

struct Statuses;

impl<'de> de::Visitor<'de> for Statuses {
    type Value = StatusSet;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a status such as 200, a range such as \"200-299\", or a list of these")
    }

    fn visit_u64<E: de::Error>(self, status: u64) -> Result<StatusSet, E> {
        u16::try_from(status)
            .ok()
            .and_then(|status| range(status, status))
            .ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(status), &self))
    }

    fn visit_i64<E: de::Error>(self, status: i64) -> Result<StatusSet, E> {
        match u64::try_from(status) {
            Ok(status) => self.visit_u64(status),
            Err(_) => Err(E::invalid_value(de::Unexpected::Signed(status), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<StatusSet, E> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let bounds = first.trim().parse().ok().zip(last.trim().parse().ok());
        bounds
            .and_then(|(first, last)| range(first, last))
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<StatusSet, A::Error> {
        let mut ranges = Vec::new();
        while let Some(StatusSet(more)) = list.next_element()? {
            ranges.extend(more);
        }
        if ranges.is_empty() || ranges.len() > MAX_RANGES {
            return Err(de::Error::invalid_length(ranges.len(), &"1 to 32 statuses or ranges"));
        }
        Ok(StatusSet(ranges))
    }
}

const MAX_RANGES: usize = 32;

fn range(first: u16, last: u16) -> Option<StatusSet> {
    (100 <= first && first <= last && last <= 599).then(|| StatusSet(vec![first..=last]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<StatusSet, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_number_a_range_and_a_list_are_read() {
        for (json, shown) in [
            ("204", "204"),
            (r#""200-299""#, "200-299"),
            (r#"[200, "301 - 308", "404"]"#, "200, 301-308, 404"),
        ] {
            assert_eq!(parse(json).unwrap().to_string(), shown);
        }
    }

    #[test]
    fn expected_statuses_survive_writing_and_reading() {
        let set = parse(r#"[200, "301-308"]"#).unwrap();
        assert_eq!(parse(&serde_json::to_string(&set).unwrap()).unwrap(), set);
    }

    #[test]
    fn a_status_that_cannot_be_is_refused_with_what_was_expected() {
        for json in ["99", "600", "-1", "70000", r#""299-200""#, r#""2xx""#, "[]", "true"] {
            let error = parse(json).unwrap_err();
            assert!(error.contains("expected") && error.contains("status"), "{json}: {error}");
        }
    }

    #[test]
    fn the_default_is_every_success() {
        let set = StatusSet::default();
        assert!(set.contains(200) && set.contains(299));
        assert!(!set.contains(199) && !set.contains(300));
    }
}
