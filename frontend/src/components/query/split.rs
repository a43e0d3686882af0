//! Takes the terms of certain fields out of a query, for a page that reads those itself.

use std::ops::Range;

use super::terms::{quoted, ranges, terms};
use crate::model::Failure;

/// A query in two parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SplitQuery {
    /// The terms of the fields, in their order.
    pub(crate) terms: Vec<FieldTerm>,
    /// The query with spaces in their place: a position that the server reports in it fits the whole query.
    pub(crate) rest: String,
}

/// A term with a field, such as `-verdict:ran,open`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldTerm {
    pub(crate) field: &'static str,
    pub(crate) is_negated: bool,
    /// The term's values without quotes: at least one, which may be empty.
    pub(crate) values: Vec<String>,
    at: Range<usize>,
}

impl SplitQuery {
    /// The other terms, as they are written.
    pub(crate) fn other_terms(&self) -> Vec<&str> {
        terms(&self.rest)
    }

    /// The other terms, as a query.
    pub(crate) fn others(&self) -> String {
        self.other_terms().join(" ")
    }

    /// The failure of a search that these other terms cause.
    pub(crate) fn failure(&self, message: impl Into<String>) -> Failure {
        let start = self.rest.len() - self.rest.trim_start().len();
        failure(start..self.rest.trim_end().len(), message)
    }
}

impl FieldTerm {
    /// The failure of a search that this term causes.
    pub(crate) fn failure(&self, message: impl Into<String>) -> Failure {
        failure(self.at.clone(), message)
    }
}

fn failure(at: Range<usize>, message: impl Into<String>) -> Failure {
    Failure { position: Some((at.start, at.end)), ..Failure::of_field("search", message) }
}

/// Splits a query into the terms of these fields and all others.
pub(crate) fn split_query(query: &str, fields: &[&'static str]) -> SplitQuery {
    let mut rest = query.to_owned();
    let mut found = Vec::new();
    for at in ranges(query) {
        let term = query.get(at.clone()).and_then(|text| read(text, fields, at.clone()));
        if let Some(term) = term {
            let blank = " ".repeat(at.len());
            rest.replace_range(at, &blank);
            found.push(term);
        }
    }
    SplitQuery { terms: found, rest }
}

fn read(text: &str, fields: &[&'static str], at: Range<usize>) -> Option<FieldTerm> {
    let (is_negated, term) = match text.strip_prefix('-') {
        Some(term) => (true, term),
        None => (false, text),
    };
    let (name, values) = term.split_once(':')?;
    let field = fields.iter().copied().find(|field| *field == name)?;
    Some(FieldTerm { field, is_negated, values: unquoted(values), at })
}

/// The values between the commas, without quotes.
fn unquoted(text: &str) -> Vec<String> {
    let (mut values, mut value, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' if is_quoted => value.extend(letters.next()),
            ',' if !is_quoted => values.push(std::mem::take(&mut value)),
            letter => value.push(letter),
        }
    }
    values.push(value);
    values
}

/// Words without a field, without their quotes.
pub(crate) fn plain_words(text: &str) -> String {
    unquoted(text).join(",")
}

/// A term that names one value of a field.
pub(crate) fn field_term(field: &str, value: &str) -> String {
    format!("{field}:{}", quoted(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_of_a_field_are_taken_out_and_the_rest_keeps_its_place() {
        let split = split_query(r#"tag:ops -verdict:ran,"a, b" zone:UTC"#, &["verdict"]);
        assert!(split.terms[0].is_negated);
        assert_eq!(split.terms[0].values, ["ran", "a, b"]);
        assert_eq!(split.others(), "tag:ops zone:UTC");
        assert_eq!(split.rest.find("zone"), Some(28));
        assert_eq!(split.terms[0].failure("wrong").position, Some((8, 27)));
        assert_eq!(split.failure("wrong").position, Some((0, 36)));
    }

    #[test]
    fn a_word_in_quotes_is_no_field() {
        let split = split_query(r#""verdict:ran" verdict:"#, &["verdict"]);
        assert_eq!(split.others(), r#""verdict:ran""#);
        assert_eq!(split.terms[0].values, [""]);
        assert_eq!(plain_words(&split.others()), "verdict:ran");
    }

    #[test]
    fn a_value_is_read_as_it_is_written() {
        for value in ["ada", "two words", r#"say "no", \ now"#, "a:b"] {
            let split = split_query(&field_term("actor", value), &["actor"]);
            assert_eq!(split.terms[0].values, [value]);
        }
    }
}
