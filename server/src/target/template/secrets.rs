//! Which secrets templates ask for. That is known before an attempt begins, so that these are
//! opened for it and no others: each is asked for by its name, `secrets.name`.

use std::collections::BTreeSet;

use minijinja::Template;

use super::{Fault, environment, fields, is_template, language};
use crate::target::Target;

const NAME: &str = "secrets";

pub(super) fn of_target(target: &Target) -> Vec<String> {
    let names: BTreeSet<String> = places(target).into_iter().map(|(_, name)| name).collect();
    names.into_iter().collect()
}

/// Each field with each secret that it asks for.
pub(super) fn places(target: &Target) -> Vec<(String, String)> {
    let mut places = Vec::new();
    let mut look = |field: &str, text: &str| {
        places.extend(of_text(text).into_iter().map(|name| (field.to_owned(), name)));
        Ok(None)
    };
    // It never refuses.
    let _ = fields::replace(&mut target.clone(), &mut look);
    places
}

/// The first field whose template asks for something else, too, and what for.
pub(super) fn beside(target: &Target) -> Option<(String, String)> {
    let mut found = None;
    let mut look = |field: &str, text: &str| {
        if found.is_none()
            && is_template(text)
            && let Ok(template) = environment().template_from_str(text)
        {
            let other = |path: &String| path.split('.').next() != Some(NAME);
            found = paths(&template).filter(other).min().map(|path| (field.to_owned(), path));
        }
        Ok(None)
    };
    // It never refuses.
    let _ = fields::replace(&mut target.clone(), &mut look);
    found
}

/// Refuses what asks for secrets without saying for which.
pub(super) fn check(template: &Template<'_, '_>) -> Result<(), Fault> {
    if paths(template).any(|path| path == NAME) {
        let problem = "it asks for secrets without their names".to_owned();
        return Err(Fault { line: 1, problem, help: "write `secrets.name` for each" });
    }
    Ok(())
}

/// A request whose body mentions secrets follows no redirect: with 307 and 308 the body would go
/// wherever the receiver says.
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
    let Ok(template) = environment().template_from_str(text) else { return BTreeSet::new() };
    let name = |path: String| {
        let (root, name) = path.split_once('.')?;
        let name = name.split('.').next().unwrap_or(name);
        (root == NAME).then(|| name.to_owned())
    };
    // The library does not see all of them: none of which a slice is taken.
    let written = language::inside(text).into_iter().flat_map(|part| written(part.text));
    paths(&template).filter_map(name).chain(written).collect()
}

/// The names that stand behind `secrets.` in an expression, or in brackets behind it.
fn written(expression: &str) -> Vec<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut names, mut rest, mut before) = (Vec::new(), expression, ' ');
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        if first == '"' || first == '\'' {
            length = quoted(rest).len() + 2;
        } else if is_word(first) {
            length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            let behind = rest[length..].trim_start();
            if &rest[..length] == NAME && before != '.' {
                let attribute = behind.strip_prefix('.').map(str::trim_start);
                let attribute = attribute.map(|name| name.split(|c: char| !is_word(c)).next());
                let bracket = behind.strip_prefix('[').map(str::trim_start);
                let item = bracket.filter(|item| item.starts_with(['"', '\''])).map(quoted);
                names.extend(attribute.flatten().or(item).map(str::to_owned));
            }
        }
        if !first.is_whitespace() {
            before = first;
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    names.retain(|name| !name.is_empty());
    names
}

/// What stands in the quotes that a text begins with.
pub(super) fn quoted(text: &str) -> &str {
    let (quote, mut escaped) = (text.as_bytes()[0], false);
    let ends = |byte: u8| {
        let is_end = byte == quote && !escaped;
        escaped = byte == b'\\' && !escaped;
        is_end
    };
    let end = text.bytes().skip(1).position(ends).map_or(text.len(), |at| at + 1);
    &text[1..end]
}

fn paths(template: &Template<'_, '_>) -> impl Iterator<Item = String> {
    template.undeclared_variables(true).into_iter()
}
