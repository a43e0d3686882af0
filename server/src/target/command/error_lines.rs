use std::collections::VecDeque;

/// Maximum number of lines of standard error that an attempt's error quotes.
const MAX_LINES: usize = 5;

/// Maximum total size of the lines in bytes. If the last line alone is larger, it is still kept.
const MAX_BYTES: usize = 16 * 1024;

/// The last lines on standard error that are not empty, which usually contain the reason for a
/// failure.
///
/// The lines are complete and not masked yet, because a part of a secret could not be recognised.
#[derive(Debug, Default)]
pub(super) struct ErrorLines {
    lines: VecDeque<String>,
    bytes: usize,
    last_is_cut: bool,
}

impl ErrorLines {
    /// Adds the next line. `is_cut` says that the line's end was left out.
    pub(super) fn push(&mut self, text: &str, is_cut: bool) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        // A cut line may end in the middle of a secret, and masking detects partial secrets only at
        // the end of a text.
        if std::mem::replace(&mut self.last_is_cut, is_cut) {
            self.lines.clear();
            self.bytes = 0;
        }
        self.bytes += text.len();
        self.lines.push_back(text.to_owned());
        while self.lines.len() > MAX_LINES || (self.bytes > MAX_BYTES && self.lines.len() > 1) {
            let oldest = self.lines.pop_front().map_or(0, |oldest| oldest.len());
            self.bytes -= oldest;
        }
    }

    /// All lines, joined into one.
    pub(super) fn joined(&self) -> Option<String> {
        let lines: Vec<&str> = self.lines.iter().map(|line| &**line).collect();
        (!lines.is_empty()).then(|| lines.join(" | "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_quoted_in_their_order() {
        let mut lines = ErrorLines::default();
        assert_eq!(lines.joined(), None);
        for line in ["one", " ", "two", "three", "four", "five", "six "] {
            lines.push(line, false);
        }
        assert_eq!(lines.joined().unwrap(), "two | three | four | five | six");
        lines.push(&"x".repeat(20_000), true);
        assert_eq!(lines.joined().unwrap().len(), 20_000);
        lines.push("after", false);
        assert_eq!(lines.joined().unwrap(), "after");
    }
}
