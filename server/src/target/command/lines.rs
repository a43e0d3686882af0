use crate::target::text::storable;

/// Maximum number of bytes of a line that are kept.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024;

/// One line of output, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutputLine {
    pub(super) text: String,
    /// How many bytes were left out at the line's end.
    pub(super) left_out: usize,
}

/// Splits a stream of bytes into lines, and keeps only the beginning of overlong ones.
#[derive(Default)]
pub(super) struct Lines {
    /// The beginning of the current line.
    kept: Vec<u8>,
    /// How many bytes of the current line were read but not kept.
    left_out: usize,
}

impl Lines {
    /// Adds bytes and returns the lines that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<OutputLine> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.fill(&bytes[..end]);
            if self.left_out == 0 && self.kept.last() == Some(&b'\r') {
                self.kept.pop();
            }
            lines.push(self.take());
            bytes = &bytes[end + 1..];
        }
        self.fill(bytes);
        lines
    }

    /// The last line, if it has no line end.
    pub(super) fn finish(&mut self) -> Option<OutputLine> {
        (!self.kept.is_empty()).then(|| self.take())
    }

    fn fill(&mut self, bytes: &[u8]) {
        let fitting = bytes.len().min(MAX_LINE_BYTES - self.kept.len());
        self.kept.extend_from_slice(&bytes[..fitting]);
        self.left_out = self.left_out.saturating_add(bytes.len() - fitting);
    }

    fn take(&mut self) -> OutputLine {
        let mut left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            let whole = boundary(&self.kept);
            left_out += self.kept.len() - whole;
            self.kept.truncate(whole);
        }
        let mut text = storable(&self.kept);
        self.kept.clear();
        // Each invalid byte becomes three bytes, so the text may be too long again.
        if text.len() > MAX_LINE_BYTES {
            let fitting = text.floor_char_boundary(MAX_LINE_BYTES);
            left_out += text.len() - fitting;
            text.truncate(fitting);
        }
        OutputLine { text, left_out }
    }
}

/// The position at which to cut without splitting a character.
fn boundary(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let needed = match bytes[bytes.len() - back] {
            0x80..=0xbf => continue,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xff => 4,
            0x00..=0x7f => 1,
        };
        return if needed > back { bytes.len() - back } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Vec<OutputLine> {
        let mut lines = Lines::default();
        let mut all: Vec<_> = parts.flat_map(|part| lines.push(part)).collect();
        all.extend(lines.finish());
        all
    }

    fn texts(lines: &[OutputLine]) -> Vec<&str> {
        lines.iter().map(|line| &*line.text).collect()
    }

    #[test]
    fn lines_are_the_same_however_the_bytes_arrive() {
        let text = "one\r\ntwo\n\nschön\nlast".as_bytes();
        for size in 1..=text.len() {
            let lines = read(text.chunks(size));
            assert_eq!(texts(&lines), ["one", "two", "", "schön", "last"], "in parts of {size}");
            assert!(lines.iter().all(|line| line.left_out == 0));
        }
    }

    #[test]
    fn the_beginning_of_a_long_line_is_kept_in_whole_characters() {
        let long = format!("x{}", "ü".repeat(MAX_LINE_BYTES));
        let text = format!("{long}\nshort");
        let lines = read(text.as_bytes().chunks(1000));
        let [first, second] = &*lines else { panic!("{} lines", lines.len()) };
        assert_eq!(first.text, &text[..MAX_LINE_BYTES - 1]);
        assert_eq!(first.text.len() + first.left_out, long.len());
        assert_eq!((&*second.text, second.left_out), ("short", 0));
    }

    #[test]
    fn bytes_that_are_no_text_keep_to_the_limit() {
        let bytes = b"\xff".repeat(MAX_LINE_BYTES);
        let lines = read([&*bytes, b"\n"].into_iter());
        let [line] = &*lines else { panic!("{} lines", lines.len()) };
        assert_eq!(line.text, "\u{fffd}".repeat(MAX_LINE_BYTES / 3));
        assert!(line.left_out > 0);
    }
}
