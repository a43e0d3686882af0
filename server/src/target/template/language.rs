//! The syntax that a template may use. The tokens are checked before parsing, in one pass, whatever
//! the text is.

use super::{
    Fault,
    depth::{MAX_DEPTH, too_deep},
    tokens::{TemplatePart, TemplateToken, TokenKind, WORDS, parts},
};

/// Maximum size of one template.
pub(super) const MAX_TEMPLATE_BYTES: usize = 64 * 1024;

/// Maximum number of texts that a template may join with `~` and `+`.
const MAX_JOINS: usize = 16;

/// Maximum number of values that one expression may name. A list that contains the same large value
/// many times would be much larger than its parts.
const MAX_NAMES: usize = 64;

/// The available statements. The tokenizer handles `raw` itself.
const STATEMENTS: [&str; 6] = ["if", "elif", "else", "endif", "for", "endfor"];

const HELP: &str = "docs/workflows.md shows what a template may contain";

/// Refuses templates that are too long or too deep to be parsed, or that could produce a large text
/// from a small one.
pub(super) fn judge(source: &str) -> Result<Vec<TemplatePart<'_>>, Fault> {
    if source.len() > MAX_TEMPLATE_BYTES {
        let problem = format!("it has {} bytes, at most {MAX_TEMPLATE_BYTES} fit", source.len());
        return Err(Fault::new(1, problem, "make it shorter").showing(source));
    }
    let parts = parts(source)?;
    if let Some(part) = too_deep(&parts) {
        let problem = format!(
            "its blocks, brackets and operators nest deeper than {MAX_DEPTH}, which is the limit"
        );
        let help = "make the expression shorter, or nest less";
        return Err(Fault::new(line(part), problem, help).showing(&source[part.start..]));
    }
    let mut joins = 0;
    for part in &parts {
        statement(part)?;
        let refused = |problem: String| Err(Fault::new(line(part), problem, HELP));
        if part.tokens.iter().any(|token| token.kind == TokenKind::Mark('*')) {
            return refused("there is no multiplication".to_owned());
        }
        let is_join = |token: &&TemplateToken<'_>| matches!(token.kind, TokenKind::Mark('~' | '+'));
        joins += part.tokens.iter().filter(is_join).count();
        if joins > MAX_JOINS {
            return refused(format!("more than {MAX_JOINS} texts are joined by ~ or +"));
        }
        if names(&part.tokens).count() > MAX_NAMES {
            return refused(format!("an expression names more than {MAX_NAMES} values"));
        }
    }
    Ok(parts)
}

fn line(part: &TemplatePart<'_>) -> usize {
    part.tokens.first().map_or(1, |token| token.line)
}

fn statement(part: &TemplatePart<'_>) -> Result<(), Fault> {
    let refused = |problem: String| Err(Fault::new(line(part), problem, HELP));
    match part.statement() {
        Some("for") if is_recursive(&part.tokens) => {
            refused("there is no `recursive` loop".to_owned())
        }
        Some("for") if loops_over_names(&part.tokens) => {
            refused("a loop goes through a value, or through a list without names".to_owned())
        }
        Some(word) if !STATEMENTS.contains(&word) => {
            let shown: String = word.chars().take(32).collect();
            refused(format!("there is no statement {shown:?}, only if and for"))
        }
        None if part.is_statement => refused("a statement begins with if or for".to_owned()),
        Some(_) | None => Ok(()),
    }
}

fn is_recursive(tokens: &[TemplateToken<'_>]) -> bool {
    let behind_dot =
        tokens.iter().rev().nth(1).is_some_and(|token| token.kind == TokenKind::Mark('.'));
    tokens.last().is_some_and(|token| token.kind == TokenKind::Word("recursive")) && !behind_dot
}

/// Whether a loop iterates over a list literal that contains names. From this, nested loops could
/// build a value that is exponentially larger than the template.
fn loops_over_names(tokens: &[TemplateToken<'_>]) -> bool {
    /// An open bracket.
    struct Bracket {
        is_list: bool,
        is_group: bool,
        has_names: bool,
    }
    let named: Vec<usize> = names(tokens).collect();
    let mut open: Vec<Bracket> = Vec::new();
    let list = tokens.iter().position(|token| token.kind == TokenKind::Word("in")).unwrap_or(0) + 1;
    for (at, token) in tokens.iter().enumerate().skip(list) {
        match token.kind {
            TokenKind::Mark(mark @ ('(' | '[' | '{')) => {
                // A bracket directly after a value is a call or an index.
                let is_behind = match &tokens[at - 1].kind {
                    TokenKind::Word(word) => !WORDS.contains(word),
                    TokenKind::Text(_) | TokenKind::Number => true,
                    TokenKind::Mark(mark) => matches!(mark, ')' | ']' | '}'),
                };
                open.push(Bracket {
                    is_list: mark == '{' || (mark == '[' && !is_behind),
                    is_group: mark == '(' && !is_behind,
                    has_names: false,
                });
            }
            TokenKind::Mark(')' | ']' | '}') => {
                let closed = open.pop();
                if closed.as_ref().is_some_and(|closed| closed.is_list && closed.has_names) {
                    return true;
                }
                if let (Some(closed), Some(outer)) = (closed, open.last_mut()) {
                    outer.has_names |= closed.has_names;
                }
            }
            // A comma turns a group into a list.
            TokenKind::Mark(',') => {
                if let Some(last) = open.last_mut() {
                    last.is_list |= last.is_group;
                }
            }
            TokenKind::Word(_) if named.binary_search(&at).is_ok() => {
                if let Some(last) = open.last_mut() {
                    last.has_names = true;
                }
            }
            TokenKind::Word(_) | TokenKind::Text(_) | TokenKind::Number | TokenKind::Mark(_) => {}
        }
    }
    false
}

/// The positions of names of values, without members, filters and tests.
fn names(tokens: &[TemplateToken<'_>]) -> impl Iterator<Item = usize> {
    const FIXED: [&str; 6] = ["true", "True", "false", "False", "none", "None"];
    tokens.iter().enumerate().filter_map(|(at, token)| {
        let TokenKind::Word(word) = token.kind else { return None };
        let before = at.checked_sub(1).map(|at| &tokens[at].kind);
        let is_member = matches!(before, Some(TokenKind::Mark('.' | '|') | TokenKind::Word("is")));
        (!is_member && !WORDS.contains(&word) && !FIXED.contains(&word)).then_some(at)
    })
}
