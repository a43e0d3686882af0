use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, de};

/// A duration as users write it, in whole milliseconds: `500ms`, `5s`, `1h30m`, `7d`. The notation
/// is that of [`timetable::duration`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// The error for a text that is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a duration; write numbers with units, such as 500ms, 5s, 1h30m or 7d")]
pub struct NotASpan(String);

impl Span {
    /// This many seconds.
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

impl FromStr for Span {
    type Err = NotASpan;

    fn from_str(text: &str) -> Result<Self, NotASpan> {
        let millis = timetable::duration::millis(text);
        let read = millis.map(|millis| Self(Duration::from_millis(millis)));
        read.ok_or_else(|| NotASpan(text.chars().take(64).collect()))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        timetable::duration::write(u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX), f)
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
        for (text, written) in
            [("90s", "1m30s"), ("2w", "14d"), ("0.5h", "30m"), ("30m1h", "1h30m")]
        {
            assert_eq!(text.parse::<Span>().map(|span| span.to_string()), Ok(written.to_owned()));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let overflow = "999999999999999999999d";
        for text in ["", "5", "s", "5 s", "-5s", "5x", "0.5ms", "1..5s", "5s7", overflow] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
