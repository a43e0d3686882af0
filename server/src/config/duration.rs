use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, de};

/// A duration as users write it: `500ms`, `5s`, `1h30m`, `7d`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// Not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no duration; write numbers with units, such as 500ms, 5s, 1h30m or 7d")]
pub struct NotASpan(String);

const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl Span {
    /// This many seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

impl FromStr for Span {
    type Err = NotASpan;

    fn from_str(text: &str) -> Result<Self, NotASpan> {
        parse(text).map(Self).ok_or_else(|| NotASpan(text.chars().take(64).collect()))
    }
}

fn parse(text: &str) -> Option<Duration> {
    let (mut rest, mut total) = (text, 0_u64);
    // Units decrease from left to right: `30m1h` is a mistake.
    let mut last = u64::MAX;
    while !rest.is_empty() {
        let (digits, tail) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, after) = tail.split_at(end);
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
        if *scale >= last {
            return None;
        }
        last = *scale;
        total = total.checked_add(digits.parse::<u64>().ok()?.checked_mul(*scale)?)?;
        rest = after;
    }
    (!text.is_empty()).then(|| Duration::from_millis(total))
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, scale) in UNITS.iter().rev() {
            if rest >= *scale {
                write!(f, "{}{unit}", rest / scale)?;
                rest %= scale;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = Span;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration in quotes, such as \"500ms\", \"5s\", \"1h30m\" or \"7d\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written_the_same_way() {
        for text in ["0s", "500ms", "5s", "1m30s", "1h30m", "7d", "1d2h3m4s5ms"] {
            assert_eq!(text.parse::<Span>().map(|span| span.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("90s".parse::<Span>().map(|span| span.to_string()), Ok("1m30s".to_owned()));
    }

    #[test]
    fn other_texts_are_refused() {
        let overflow = "999999999999999999999d";
        for text in ["", "5", "s", "5 s", "-5s", "5x", "30m1h", "1s1s", "5s7", overflow] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
