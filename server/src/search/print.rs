//! Prints a search as text that parses to the same search.

use std::fmt::{Display, Formatter, Result, Write};

use chrono::SecondsFormat;
use uuid::Uuid;

use super::{Comparator, Criterion, Search, Term, TimeOperand};

impl Display for Search {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (index, term) in self.terms.iter().enumerate() {
            if index > 0 {
                f.write_char(' ')?;
            }
            term.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.negated {
            f.write_char('-')?;
        }
        match &self.test {
            Criterion::Text(text) => word(f, text),
            Criterion::State(states) => list(f, "state", states.iter().map(|state| state.word())),
            // An id consists of hexadecimal digits and hyphens, so it needs no quotes.
            Criterion::Id(ids) => {
                let ids: Vec<String> = ids.iter().map(Uuid::to_string).collect();
                write!(f, "id:{}", ids.join(","))
            }
            Criterion::Trigger(triggers) => {
                list(f, "trigger", triggers.iter().map(|trigger| trigger.word()))
            }
            Criterion::Word(field, words) => {
                list(f, field.word(), words.iter().map(String::as_str))
            }
            Criterion::No(fields) => list(f, "no", fields.iter().map(|field| field.word())),
            Criterion::Time(field, moment) => write!(f, "{}:{moment}", field.word()),
            Criterion::Span(field, order, span) => write!(f, "{}:{order}{span}", field.word()),
        }
    }
}

impl Display for TimeOperand {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::On(day) => write!(f, "{}", day.format("%Y-%m-%d")),
            Self::Away(order, span) => write!(f, "{order}{span}"),
            Self::At(order, at) => {
                write!(f, "{order}{}", at.to_rfc3339_opts(SecondsFormat::AutoSi, true))
            }
        }
    }
}

impl Display for Comparator {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
        })
    }
}

fn list<'a>(f: &mut Formatter<'_>, field: &str, words: impl Iterator<Item = &'a str>) -> Result {
    f.write_str(field)?;
    for (index, text) in words.enumerate() {
        f.write_char(if index == 0 { ':' } else { ',' })?;
        word(f, text)?;
    }
    Ok(())
}

/// Writes a word, in quotes unless it cannot be mistaken for anything else.
fn word(f: &mut Formatter<'_>, text: &str) -> Result {
    let is_plain = text.starts_with(char::is_alphanumeric)
        && text.chars().all(|c| c.is_alphanumeric() || "._/@+-".contains(c));
    if is_plain {
        return f.write_str(text);
    }
    f.write_char('"')?;
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            f.write_char('\\')?;
        }
        f.write_char(letter)?;
    }
    f.write_char('"')
}
