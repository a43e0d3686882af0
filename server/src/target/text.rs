use std::fmt;
use std::time::Duration;

/// Makes text of bytes from outside, fit for every database: what is not UTF-8 and NUL, which
/// PostgreSQL cannot store, become U+FFFD.
pub(crate) fn storable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.into_owned() }
}

/// Whole milliseconds, for output.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A duration in seconds, for messages: `30 s`, `0.25 s`.
pub(crate) struct Seconds(pub(crate) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_database_stores_is_replaced() {
        assert_eq!(storable(b"a\0b\xffc"), "a\u{fffd}b\u{fffd}c");
        assert_eq!(storable("grüße".as_bytes()), "grüße");
    }

    #[test]
    fn durations_are_shown_in_seconds() {
        assert_eq!(Seconds(Duration::from_secs(30)).to_string(), "30 s");
        assert_eq!(Seconds(Duration::from_millis(250)).to_string(), "0.25 s");
    }
}
