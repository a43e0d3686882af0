//! Detects comments in a YAML text (pure). Comments are not stored, and the page says so.
//!
//! This is not a parser: it only knows the places where a number sign does not begin a comment, in quotes and in
//! blocks.

/// Whether the text has a comment.
pub(super) fn has_comment(text: &str) -> bool {
    let mut quote = None;
    // The indent of the key whose block scalar is being read.
    let mut block = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if let Some(key) = block {
            if line.trim().is_empty() || indent > key {
                continue;
            }
            block = None;
        }
        match quote_after(line, quote) {
            Some(end) => quote = end,
            None => return true,
        }
        if quote.is_none() && opens_block(line) {
            block = Some(key_indent(line));
        }
    }
    false
}

/// The quote that is open at the end of a line; `None` if the line has a comment.
fn quote_after(line: &str, mut quote: Option<char>) -> Option<Option<char>> {
    let mut before = ' ';
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some('"'), '\\') => {
                let _escaped = letters.next();
            }
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '#') if before.is_whitespace() => return None,
            // Two single quotes in a row stand for an apostrophe, so the quoted text continues.
            (None, '\'') if before == '\'' => quote = Some(letter),
            (None, '"' | '\'') if before.is_whitespace() || "[{,:(".contains(before) => {
                quote = Some(letter);
            }
            (None, _) => {}
        }
        before = letter;
    }
    Some(quote)
}

/// Whether the indented lines below this line are a text: the line ends with a bar or an angle bracket.
fn opens_block(line: &str) -> bool {
    let Some(last) = line.split_whitespace().next_back() else { return false };
    let mut letters = last.chars();
    let is_mark = letters.next().is_some_and(|letter| "|>".contains(letter));
    is_mark && letters.all(|letter| letter.is_ascii_digit() || "+-".contains(letter))
}

/// The indent of a line's key, after any dashes.
fn key_indent(line: &str) -> usize {
    let mut rest = line.trim_start_matches(' ');
    while let Some(inner) = rest.strip_prefix("- ") {
        let inner = inner.trim_start_matches(' ');
        // The text belongs to the dash itself.
        if inner.starts_with(['|', '>']) {
            break;
        }
        rest = inner;
    }
    line.len() - rest.len()
}

#[cfg(test)]
mod tests {
    use super::has_comment;

    #[test]
    fn a_comment_is_seen_wherever_it_stands() {
        for text in [
            "# a",
            "a: 1\n  # b",
            "a: 1 # b",
            "a: 'it''s' # b",
            "a: \"\\\"\" # b",
            "a: don't # b",
            "a: |\n  x\n# b",
            "- a: |\n    x\n  b: 1 # c",
            "a: |-\n  x\nb: 'c\n  d' # e",
            "a: [b, 'c'] # d",
        ] {
            assert!(has_comment(text), "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_a_comment_is_none() {
        for text in [
            "",
            "a: b#c",
            "a: https://example.org/#top",
            "a: '# b'",
            "a: 'it''s # b'",
            "a: \"b # c\"",
            "a: \"b\n  # c\"",
            "a: |\n  #!/bin/sh\n\n  # b\n",
            "- a: >-\n    # b\n",
            "- |\n  # b\n- |2\n    # c",
            "{\"a\": \"# b\"}",
            "a: ['# b', \"# c\"]",
        ] {
            assert!(!has_comment(text), "{text}");
        }
    }
}
