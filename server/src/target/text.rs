use std::fmt;
use std::time::Duration;

/// Converts bytes from outside to text that every database can store: invalid UTF-8, and NUL, which
/// PostgreSQL cannot store, become U+FFFD.
pub(crate) fn storable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.into_owned() }
}

/// A duration in whole milliseconds, for output.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A duration in seconds, for messages: `30 s`, `0.25 s`.
pub(crate) struct SecondsText(pub(crate) Duration);

impl fmt::Display for SecondsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0.as_secs_f64())
    }
}

/// A count with thousands separators: `1,234`.
pub(crate) struct WithSeparators(pub(crate) u64);

impl fmt::Display for WithSeparators {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// A number of bytes in short form: `999 bytes`, `56 kB`, `3 MB`.
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 byte"),
            bytes @ ..1_000 => write!(f, "{bytes} bytes"),
            bytes @ 1_000..10_000_000 => write!(f, "{} kB", WithSeparators(bytes / 1_000)),
            bytes => write!(f, "{} MB", WithSeparators(bytes / 1_000_000)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_no_database_stores_are_replaced() {
        assert_eq!(storable(b"a\0b\xffc"), "a\u{fffd}b\u{fffd}c");
        assert_eq!(storable("grüße".as_bytes()), "grüße");
    }

    #[test]
    fn durations_are_shown_in_seconds() {
        assert_eq!(SecondsText(Duration::from_secs(30)).to_string(), "30 s");
        assert_eq!(SecondsText(Duration::from_millis(250)).to_string(), "0.25 s");
    }

    #[test]
    fn amounts_are_shown_in_short() {
        for (bytes, shown) in [
            (1, "1 byte"),
            (999, "999 bytes"),
            (56_789, "56 kB"),
            (9_999_999, "9,999 kB"),
            (12_345_678_901, "12,345 MB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), shown);
        }
        assert_eq!(WithSeparators(1_234_567).to_string(), "1,234,567");
        assert_eq!(WithSeparators(12).to_string(), "12");
    }
}
