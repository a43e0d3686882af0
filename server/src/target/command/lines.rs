use crate::target::text::storable;

/// The longest line; longer ones are cut into several.
pub(super) const MOST_LINE_BYTES: usize = 16 * 1024;

/// Cuts a stream of bytes into lines.
#[derive(Default)]
pub(super) struct Lines {
    rest: Vec<u8>,
}

impl Lines {
    /// Takes the next bytes and gives the lines that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.fill(&bytes[..end], &mut lines);
            emit(self.rest.strip_suffix(b"\r").unwrap_or(&self.rest), &mut lines);
            self.rest.clear();
            bytes = &bytes[end + 1..];
        }
        self.fill(bytes, &mut lines);
        lines
    }

    /// The last line, if it has no end.
    pub(super) fn finish(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.rest.is_empty() {
            emit(&self.rest, &mut lines);
            self.rest.clear();
        }
        lines
    }

    /// Adds bytes to the current line; a line that grows too long is cut between characters.
    fn fill(&mut self, mut bytes: &[u8], lines: &mut Vec<String>) {
        while self.rest.len() + bytes.len() > MOST_LINE_BYTES {
            let (now, later) = bytes.split_at(MOST_LINE_BYTES - self.rest.len());
            self.rest.extend_from_slice(now);
            let tail = self.rest.split_off(boundary(&self.rest));
            emit(&self.rest, lines);
            self.rest = tail;
            bytes = later;
        }
        self.rest.extend_from_slice(bytes);
    }
}

/// Adds a line; replacing bytes can make it longer than what was read.
fn emit(bytes: &[u8], lines: &mut Vec<String>) {
    let mut text = storable(bytes);
    while text.len() > MOST_LINE_BYTES {
        let rest = text.split_off(text.floor_char_boundary(MOST_LINE_BYTES));
        lines.push(std::mem::replace(&mut text, rest));
    }
    lines.push(text);
}

/// Where to cut so that a character whose end has not been read yet stays whole.
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

    #[test]
    fn lines_are_the_same_however_the_bytes_arrive() {
        let text = "one\r\ntwo\n\nschön\nlast".as_bytes();
        for size in 1..=text.len() {
            let mut lines = Lines::default();
            let mut seen: Vec<String> =
                text.chunks(size).flat_map(|part| lines.push(part)).collect();
            seen.extend(lines.finish());
            assert_eq!(seen, ["one", "two", "", "schön", "last"], "in parts of {size}");
        }
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let text = format!("x{}", "ü".repeat(MOST_LINE_BYTES));
        let mut lines = Lines::default();
        let mut seen: Vec<String> =
            text.as_bytes().chunks(1000).flat_map(|part| lines.push(part)).collect();
        seen.extend(lines.finish());
        assert_eq!(seen.len(), 3);
        assert!(seen.iter().all(|line| line.len() <= MOST_LINE_BYTES));
        assert_eq!(seen.concat(), text);
    }

    #[test]
    fn bytes_that_are_no_text_keep_to_the_limit() {
        let mut lines = Lines::default();
        let seen = lines.push(&[b"\xff".repeat(MOST_LINE_BYTES), b"\n".to_vec()].concat());
        assert!(seen.iter().all(|line| line.len() <= MOST_LINE_BYTES));
        assert_eq!(seen.concat(), "\u{fffd}".repeat(MOST_LINE_BYTES));
    }
}
