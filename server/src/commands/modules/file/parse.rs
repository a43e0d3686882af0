//! Parses a module from bytes, with the position of a mistake.

use std::borrow::Cow;

use serde::Deserialize;
use toml::de::{DeTable, DeValue};

use super::{File, FileFormat, error_text};
use crate::commands::BadInput;

/// Maximum size of a file.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;

const HELP: &str = "see docs/modules.md for the keys that a module's file may have";

impl File {
    /// Reads a module's file.
    pub(crate) fn read(source: &str, format: FileFormat) -> Result<Self, BadInput> {
        if source.len() > MAX_BYTES {
            let problem = format!("has {} bytes; the limit is {MAX_BYTES}", source.len());
            return Err(BadInput::new("source", "", problem, "divide it into several modules"));
        }
        match format {
            FileFormat::Yaml => {
                serde_saphyr::from_str(source).map_err(|error| unreadable_yaml(source, &error))
            }
            FileFormat::Toml => read_toml(source).map_err(|error| unreadable_toml(source, &error)),
        }
    }
}

/// Errors of a TOML file.
enum Unreadable {
    /// It is not TOML.
    Text(toml::de::Error),
    /// It contains a value that a module's file may not contain.
    Value(toml::de::Error),
}

fn read_toml(source: &str) -> Result<File, Unreadable> {
    let mut table = DeTable::parse(source).map_err(Unreadable::Text)?;
    spell_texts(table.get_mut());
    File::deserialize(toml::Deserializer::from(table)).map_err(Unreadable::Value)
}

/// Converts values that JSON does not have to texts, as YAML does: instants, and numbers such as
/// `inf`, which would become null.
fn spell_texts(table: &mut DeTable<'_>) {
    for (_, value) in table.iter_mut() {
        spell_text(value.get_mut());
    }
}

fn spell_text(value: &mut DeValue<'_>) {
    match value {
        DeValue::Datetime(instant) => *value = DeValue::String(Cow::Owned(instant.to_string())),
        DeValue::Float(number) if !number.as_str().bytes().any(|byte| byte.is_ascii_digit()) => {
            *value = DeValue::String(Cow::Owned(number.as_str().to_owned()));
        }
        DeValue::Array(items) => {
            for item in items.iter_mut() {
                spell_text(item.get_mut());
            }
        }
        DeValue::Table(table) => spell_texts(table),
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {}
    }
}

fn unreadable_yaml(source: &str, error: &serde_saphyr::Error) -> BadInput {
    let said = error_text::of_yaml(source, error);
    let Some(location) = error.location() else {
        return BadInput::new("source", "", said, HELP);
    };
    let position = offset(source, location.line(), location.column());
    at_place(location.line(), location.column(), position, &said)
}

fn unreadable_toml(source: &str, unreadable: &Unreadable) -> BadInput {
    let (error, said) = match unreadable {
        // The parser's own messages contain nothing of the file.
        Unreadable::Text(error) => {
            (error, error.message().lines().next().unwrap_or_default().to_owned())
        }
        Unreadable::Value(error) => (error, error_text::of_serde(error.message())),
    };
    let Some(span) = error.span() else {
        return BadInput::new("source", "", said, HELP);
    };
    let before = source.get(..span.start).unwrap_or(source);
    let line = before.matches('\n').count() as u64 + 1;
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.get(begin..).unwrap_or_default().chars().count() as u64 + 1;
    at_place(line, column, Some(span.start), &said)
}

/// An error with a position. The line itself is not repeated, because the mistake in it may be a
/// secret.
fn at_place(line: u64, column: u64, position: Option<usize>, said: &str) -> BadInput {
    let problem = format!("line {line}, column {column}: {said}");
    let mut bad = BadInput::new("source", "", problem, HELP);
    bad.position = position.map(|at| at..at);
    bad
}

/// The byte offset of a line and column, both counted from 1.
fn offset(source: &str, line: u64, column: u64) -> Option<usize> {
    let mut start = 0;
    for _ in 1..line {
        start += source.get(start..)?.find('\n')? + 1;
    }
    let characters = usize::try_from(column.checked_sub(1)?).ok()?;
    let rest = source.get(start..)?;
    Some(start + rest.char_indices().nth(characters).map_or(rest.len(), |(at, _)| at))
}
