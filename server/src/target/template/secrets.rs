//! The secrets that templates use. They are known before an attempt begins, so only these are
//! decrypted for the attempt. A template refers to a secret by name: `secrets.name`.

use std::collections::BTreeSet;

use minijinja::Template;

use super::{
    Fault, ParsedTemplate, fields, is_template,
    names::targets,
    tokens::{TemplatePart, TemplateToken, TokenKind, parts},
};
use crate::target::Target;

const NAME: &str = "secrets";

/// Whether the text is only a reference to a secret: it reveals the name, not the value.
pub(crate) fn is_reference(text: &str) -> bool {
    let inside = text.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
    let name = inside.and_then(|inside| inside.trim().strip_prefix("secrets."));
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.is_some_and(|name| !name.is_empty() && name.bytes().all(is_word))
}

/// Whether a text takes its value from elsewhere. Either it uses a secret, the run's context or the
/// output of another task, or it is a single expression of values that a run has, without any text
/// of its own.
pub(crate) fn is_filled_from_elsewhere(text: &str) -> bool {
    if !is_template(text) {
        return false;
    }
    let Ok(parts) = parts(text) else { return false };
    let bound: Vec<&str> = parts.iter().flat_map(targets).collect();
    let is_source = |word: &str| SOURCES.contains(&word) && !bound.contains(&word);
    parts.iter().any(|part| roots(part).any(is_source)) || is_bare(text, &parts)
}

/// The values that a run gets from outside.
const SOURCES: [&str; 3] = [NAME, "context", "tasks"];

/// The words of an expression, except those that are members of others.
fn roots<'a>(part: &TemplatePart<'a>) -> impl Iterator<Item = &'a str> {
    let mut is_member = false;
    part.tokens.iter().filter_map(move |token| {
        let was_member = std::mem::replace(&mut is_member, token.kind == TokenKind::Mark('.'));
        match token.kind {
            TokenKind::Word(word) if !was_member => Some(word),
            TokenKind::Word(_) | TokenKind::Text(_) | TokenKind::Number | TokenKind::Mark(_) => {
                None
            }
        }
    })
}

/// Whether a template is a single expression that contains neither a quoted text nor a number.
fn is_bare(text: &str, parts: &[TemplatePart<'_>]) -> bool {
    let text = text.trim();
    let is_single = text.starts_with("{{")
        && text.find("}}").is_some_and(|end| end + 2 == text.len())
        && !text.contains("{#");
    let is_own =
        |token: &TemplateToken<'_>| matches!(token.kind, TokenKind::Text(_) | TokenKind::Number);
    let [only] = parts else { return false };
    is_single && !only.tokens.is_empty() && !only.tokens.iter().any(is_own)
}

pub(super) fn of_target(target: &Target) -> Vec<String> {
    let names: BTreeSet<String> = places(target).into_iter().map(|(_, name)| name).collect();
    names.into_iter().collect()
}

/// Each field that uses secrets, with each secret that it uses.
pub(super) fn places(target: &Target) -> Vec<(String, String)> {
    let mut places = Vec::new();
    let mut look = |field: &str, text: &str| {
        places.extend(of_text(text).into_iter().map(|name| (field.to_owned(), name)));
        Ok(None)
    };
    // `replace` cannot fail, because the closure never does.
    let _ = fields::replace(&mut target.clone(), &mut look);
    places
}

/// The first field whose template uses anything other than secrets, and the name that it uses.
pub(super) fn beside(target: &Target) -> Option<(String, String)> {
    let mut found = None;
    let mut look = |field: &str, text: &str| {
        if found.is_none()
            && is_template(text)
            && let Ok(read) = ParsedTemplate::new(text)
        {
            let other = |path: &String| path.split('.').next() != Some(NAME);
            found = paths(&read.template).filter(other).min().map(|path| (field.to_owned(), path));
        }
        Ok(None)
    };
    // `replace` cannot fail, because the closure never does.
    let _ = fields::replace(&mut target.clone(), &mut look);
    found
}

/// Refuses templates that use `secrets` without a name.
pub(super) fn check(template: &Template<'_, '_>) -> Result<(), Fault> {
    if paths(template).any(|path| path == NAME) {
        let problem = "it uses secrets without their names".to_owned();
        return Err(Fault::new(1, problem, "write `secrets.name` for each"));
    }
    Ok(())
}

/// Makes a request whose body mentions secrets follow no redirects: with 307 and 308, the receiver
/// would decide who gets the body.
pub(super) fn keep_from_strangers(target: &mut Target) {
    if let Target::Http(http) = target
        && http.body.as_ref().is_some_and(mentioned)
    {
        http.max_redirects = 0;
    }
}

fn mentioned(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::String(text) => is_template(text) && text.contains(NAME),
        serde_json::Value::Array(items) => items.iter().any(mentioned),
        serde_json::Value::Object(members) => members.values().any(mentioned),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
            false
        }
    }
}

fn of_text(text: &str) -> BTreeSet<String> {
    if !is_template(text) || !text.contains(NAME) {
        return BTreeSet::new();
    }
    let Ok(read) = ParsedTemplate::new(text) else { return BTreeSet::new() };
    let name = |path: String| {
        let (root, name) = path.split_once('.')?;
        let name = name.split('.').next().unwrap_or(name);
        (root == NAME).then(|| name.to_owned())
    };
    // The library does not report a name if the template takes a slice of its value.
    let written = read.parts.iter().flat_map(written);
    paths(&read.template).filter_map(name).chain(written).collect()
}

/// The names of secrets in an expression: after `secrets.`, or in brackets after `secrets`.
fn written(part: &TemplatePart<'_>) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest: &[TemplateToken<'_>] = &part.tokens;
    let mut is_member = false;
    while let [first, behind @ ..] = rest {
        if first.kind == TokenKind::Word(NAME) && !is_member {
            match behind {
                [dot, TemplateToken { kind: TokenKind::Word(name), .. }, ..]
                    if dot.kind == TokenKind::Mark('.') =>
                {
                    names.push((*name).to_owned());
                }
                [open, TemplateToken { kind: TokenKind::Text(name), .. }, ..]
                    if open.kind == TokenKind::Mark('[') =>
                {
                    names.push(name.to_string());
                }
                _ => {}
            }
        }
        is_member = first.kind == TokenKind::Mark('.');
        rest = behind;
    }
    names.retain(|name| !name.is_empty());
    names
}

fn paths(template: &Template<'_, '_>) -> impl Iterator<Item = String> {
    template.undeclared_variables(true).into_iter()
}
