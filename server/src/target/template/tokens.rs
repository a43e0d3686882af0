//! The tokens of a template. The library's own tokenizer produces them, so that the checks see the
//! same tokens as the parser. The tokenizer is a single loop without recursion, so it can handle
//! any text.

use std::borrow::Cow;

use minijinja::{
    machinery::{Token as Read, Tokenizer},
    syntax::SyntaxConfig,
};

use super::{Fault, fault};

/// The content of one expression or statement.
#[derive(Clone, Debug, Default)]
pub(super) struct TemplatePart<'a> {
    /// Whether it is inside `{% %}`.
    pub(super) is_statement: bool,
    /// The byte offset in the template at which the content starts.
    pub(super) start: usize,
    pub(super) tokens: Vec<TemplateToken<'a>>,
}

impl<'a> TemplatePart<'a> {
    /// The first word of a statement.
    pub(super) fn statement(&self) -> Option<&'a str> {
        match self.tokens.first() {
            Some(TemplateToken { kind: TokenKind::Word(word), .. }) if self.is_statement => {
                Some(word)
            }
            Some(_) | None => None,
        }
    }
}

/// A token of an expression, and the line that it is on.
#[derive(Clone, Debug)]
pub(super) struct TemplateToken<'a> {
    pub(super) line: usize,
    pub(super) kind: TokenKind<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'a> {
    Word(&'a str),
    /// A quoted text.
    Text(Cow<'a, str>),
    Number,
    /// An operator or a bracket, by its first character; `!` for `!=`.
    Mark(char),
}

/// Keywords of the language.
pub(super) const WORDS: [&str; 9] = ["and", "elif", "else", "for", "if", "in", "is", "not", "or"];

/// The expressions and statements of a template, without comments and raw parts.
pub(super) fn parts(source: &str) -> Result<Vec<TemplatePart<'_>>, Fault> {
    let mut tokenizer = Tokenizer::new(source, "", false, SyntaxConfig::default());
    let (mut parts, mut part) = (Vec::new(), TemplatePart::default());
    while let Some((token, span)) = tokenizer.next_token().map_err(|error| fault(&error))? {
        let kind = match token {
            Read::TemplateData(_) => continue,
            Read::VariableStart | Read::BlockStart => {
                part.is_statement = matches!(token, Read::BlockStart);
                part.start = span.start_offset as usize;
                continue;
            }
            Read::VariableEnd | Read::BlockEnd => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            Read::Ident(word) => TokenKind::Word(word),
            Read::Str(text) => TokenKind::Text(Cow::Borrowed(text)),
            Read::String(text) => TokenKind::Text(Cow::Owned(text.into_string())),
            Read::Int(_) | Read::Int128(_) | Read::Float(_) => TokenKind::Number,
            Read::Plus => TokenKind::Mark('+'),
            Read::Minus => TokenKind::Mark('-'),
            Read::Mul | Read::Pow => TokenKind::Mark('*'),
            Read::Div | Read::FloorDiv => TokenKind::Mark('/'),
            Read::Mod => TokenKind::Mark('%'),
            Read::Dot => TokenKind::Mark('.'),
            Read::Comma => TokenKind::Mark(','),
            Read::Colon => TokenKind::Mark(':'),
            Read::Tilde => TokenKind::Mark('~'),
            Read::Assign | Read::Eq => TokenKind::Mark('='),
            Read::Pipe => TokenKind::Mark('|'),
            Read::Ne => TokenKind::Mark('!'),
            Read::Gt | Read::Gte => TokenKind::Mark('>'),
            Read::Lt | Read::Lte => TokenKind::Mark('<'),
            Read::BracketOpen => TokenKind::Mark('['),
            Read::BracketClose => TokenKind::Mark(']'),
            Read::ParenOpen => TokenKind::Mark('('),
            Read::ParenClose => TokenKind::Mark(')'),
            Read::BraceOpen => TokenKind::Mark('{'),
            Read::BraceClose => TokenKind::Mark('}'),
        };
        part.tokens.push(TemplateToken { line: usize::from(span.start_line), kind });
    }
    // The part is not terminated; the parser refuses it after the checks.
    if !part.tokens.is_empty() {
        parts.push(part);
    }
    Ok(parts)
}
