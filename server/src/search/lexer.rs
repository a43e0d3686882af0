//! Splits a search into terms and values, with their positions. It does not interpret them.

use std::ops::Range;

use super::error::{SearchError, quoted};

/// A term as the user wrote it.
#[derive(Debug)]
pub(super) struct Raw<'a> {
    pub(super) at: Range<usize>,
    pub(super) negated: bool,
    /// The name before the colon. A term without a name is a single value: the text to find.
    pub(super) field: Option<(&'a str, Range<usize>)>,
    pub(super) values: Vec<RawValue>,
}

/// A value without its quotes.
#[derive(Debug)]
pub(super) struct RawValue {
    pub(super) at: Range<usize>,
    pub(super) text: String,
    /// Whether the value was quoted: inside quotes, no character has a special meaning.
    pub(super) is_quoted: bool,
}

/// The terms of a search, in order.
pub(super) fn terms(text: &str) -> Result<Vec<Raw<'_>>, SearchError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut terms = Vec::new();
    loop {
        lexer.skip(char::is_whitespace);
        if lexer.peek().is_none() {
            return Ok(terms);
        }
        terms.push(lexer.term()?);
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.at += wanted.len_utf8();
        }
        is_there
    }

    /// Advances while `is_in`; returns the skipped text.
    fn skip(&mut self, is_in: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !is_in(c)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn term(&mut self) -> Result<Raw<'a>, SearchError> {
        let start = self.at;
        let negated = self.take('-');
        if self.peek().is_none_or(char::is_whitespace) {
            let help = "write what is not wanted right after it, as in -tag:test, or \"-\" to find \
                        the character";
            return Err(SearchError::new(start..self.at, "'-' stands alone", help));
        }
        let name_at = self.at;
        let name = self.skip(|c| c.is_ascii_alphabetic() || c == '_');
        let field = if !name.is_empty() && self.take(':') {
            Some((name, name_at..name_at + name.len()))
        } else {
            self.at = name_at;
            None
        };
        let mut values = vec![self.value(field.as_ref().map(|(name, _)| *name))?];
        while field.is_some() && self.take(',') {
            values.push(self.value(field.as_ref().map(|(name, _)| *name))?);
        }
        Ok(Raw { at: start..self.at, negated, field, values })
    }

    /// A value of a field, or text.
    fn value(&mut self, field: Option<&str>) -> Result<RawValue, SearchError> {
        let start = self.at;
        let is_quoted = self.take('"');
        let text = if is_quoted {
            self.quoted(start)?
        } else {
            let ends = |c: char| c.is_whitespace() || field.is_some() && c == ',';
            self.skip(|c| !ends(c)).to_owned()
        };
        if text.is_empty() {
            let (problem, help) = match field {
                Some(name) => (
                    format!("'{name}:' has nothing after it"),
                    "write what it is to be right after the colon or comma",
                ),
                None => ("the quotes are empty".to_owned(), "write the text to find in them"),
            };
            return Err(SearchError::new(start..self.at, problem, help));
        }
        let at = start..self.at;
        Ok(RawValue { at, text, is_quoted })
    }

    /// The text after an opening quote, up to the closing one.
    fn quoted(&mut self, start: usize) -> Result<String, SearchError> {
        let mut text = String::new();
        let mut letters = self.rest().char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.at += at + 1;
                    return match self.peek() {
                        Some(next) if !next.is_whitespace() && next != ',' => {
                            let end = self.at + next.len_utf8();
                            let problem = format!("'{next}' follows a quote");
                            let help = "put a space between two terms, and \\\" for a quote \
                                        inside quotes";
                            Err(SearchError::new(self.at..end, problem, help))
                        }
                        Some(_) | None => Ok(text),
                    };
                }
                '\\' => match letters.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                    Some((_, escaped)) => text.push(escaped),
                    None => text.push(letter),
                },
                _ => text.push(letter),
            }
        }
        let end = self.text.len();
        let problem = format!("the quote before {} is not closed", quoted(&text));
        Err(SearchError::new(start..end, problem, "write another \" where the text ends"))
    }
}
