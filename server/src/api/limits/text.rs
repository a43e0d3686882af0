//! Checks the text of a document before it is parsed: its length, its number of tokens, and how
//! deep its brackets nest. One pass over the bytes, without recursion or allocation.

use async_graphql::{ServerError, ServerResult};

use super::refused;

/// Maximum number of open brackets, including those in values, because the parser and all code that
/// walks values recurse once for each.
const MAX_OPEN_BRACKETS: usize = 100;

/// Limits on the text of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextLimits {
    /// Maximum size in bytes; None leaves it to the transport, which limits the whole request.
    pub(super) max_bytes: Option<usize>,
    /// Maximum number of names, numbers, strings and punctuators.
    pub(super) max_tokens: usize,
}

/// The limits for an authenticated caller.
pub(super) const SIGNED_IN: TextLimits = TextLimits { max_bytes: None, max_tokens: 50_000 };
/// The limits for an unauthenticated caller: enough for `me`, and cheap to refuse.
pub(super) const STRANGER: TextLimits = TextLimits { max_bytes: Some(4 * 1024), max_tokens: 1_000 };

impl TextLimits {
    /// Refuses a text beyond these limits.
    pub(super) fn check(self, query: &str) -> ServerResult<()> {
        if let Some(max) = self.max_bytes.filter(|max| query.len() > *max) {
            let length = query.len();
            return Err(refused(
                format!(
                    "the document has {length} bytes; the limit without a session or a token is \
                     {max}; sign in, or send a token"
                ),
                max,
            ));
        }
        let mut scan = Scan { rest: query.as_bytes(), open: 0, tokens: 0 };
        while scan.step()? {
            if scan.open > MAX_OPEN_BRACKETS {
                return Err(refused(
                    format!(
                        "the request has more than {MAX_OPEN_BRACKETS} brackets open at once; nest \
                         less deep, and give large values as variables"
                    ),
                    MAX_OPEN_BRACKETS,
                ));
            }
            if scan.tokens > self.max_tokens {
                let max = self.max_tokens;
                return Err(refused(
                    format!(
                        "the document has more than {max} tokens; ask for less at once, and give \
                         large values as variables"
                    ),
                    max,
                ));
            }
        }
        Ok(())
    }
}

/// The position of a pass over a text.
struct Scan<'a> {
    rest: &'a [u8],
    open: usize,
    tokens: usize,
}

impl Scan<'_> {
    /// Consumes one token, or one byte between tokens; false at the end.
    fn step(&mut self) -> ServerResult<bool> {
        let Some((byte, behind)) = self.rest.split_first() else { return Ok(false) };
        let mut behind = behind;
        let is_token = match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b',' => false,
            b'#' => {
                behind = comment(behind);
                false
            }
            b'{' | b'[' | b'(' => {
                self.open += 1;
                true
            }
            b'}' | b']' | b')' => {
                self.open = self.open.saturating_sub(1);
                true
            }
            b'"' => {
                behind = match behind.strip_prefix(b"\"\"") {
                    Some(block) => block_string(block).ok_or_else(unended)?,
                    None => string(behind),
                };
                true
            }
            byte if is_word(*byte) => {
                let end = behind.iter().position(|byte| !is_word(*byte)).unwrap_or(behind.len());
                behind = behind.get(end..).unwrap_or_default();
                true
            }
            _ => true,
        };
        self.rest = behind;
        self.tokens += usize::from(is_token);
        Ok(true)
    }
}

/// Whether a byte belongs to a name or a number.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'.')
}

fn unended() -> ServerError {
    super::unparsed("a text that begins with three quotes does not end".to_owned())
}

/// The text after a comment.
fn comment(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
    end.and_then(|end| text.get(end..)).unwrap_or_default()
}

/// The text after a string in quotes.
fn string(mut text: &[u8]) -> &[u8] {
    loop {
        text = match text {
            [] => return text,
            [b'"', behind @ ..] => return behind,
            [b'\\', _, behind @ ..] | [_, behind @ ..] => behind,
        }
    }
}

/// The text after a string in triple quotes, if it is closed.
fn block_string(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        text = match text {
            [] => return None,
            [b'"', b'"', b'"', behind @ ..] => return Some(behind),
            [b'\\', b'"', b'"', b'"', behind @ ..] | [_, behind @ ..] => behind,
        }
    }
}
