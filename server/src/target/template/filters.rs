//! What a value can be put through: the usual small filters, and of those that make texts longer
//! our own, which refuse to begin with a long one.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use minijinja::{
    Environment, Error, ErrorKind, Value, filters, tests,
    value::{Kwargs, Rest},
};

use super::MOST_BYTES;

/// A list of names, and what puts what they name into the language.
macro_rules! named {
    ($names:ident, $add:ident by $method:ident: $($name:literal => $what:expr),+ $(,)?) => {
        pub(super) const $names: &[&str] = &[$($name),+];

        fn $add(environment: &mut Environment<'static>) {
            $(environment.$method($name, $what);)+
        }
    };
}

named! { FILTERS, add_filters by add_filter:
    "default" => filters::default,
    "lower" => filters::lower,
    "upper" => filters::upper,
    "trim" => filters::trim,
    "length" => filters::length,
    "first" => filters::first,
    "last" => filters::last,
    "min" => filters::min,
    "max" => filters::max,
    "round" => filters::round,
    "abs" => filters::abs,
    "int" => filters::int,
    "float" => filters::float,
    "tojson" => tojson,
    "urlencode" => urlencode,
    "join" => join,
    "replace" => replace,
    "date" => date,
}

named! { TESTS, add_tests by add_test:
    "defined" => tests::is_defined,
    "undefined" => tests::is_undefined,
    "none" => tests::is_none,
    "string" => tests::is_string,
    "number" => tests::is_number,
    "sequence" => tests::is_sequence,
    "mapping" => tests::is_mapping,
}

pub(super) fn add(environment: &mut Environment<'static>) {
    add_filters(environment);
    add_tests(environment);
}

fn refused(problem: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, problem)
}

fn short(value: &Value) -> Result<(), Error> {
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    match value.as_str() {
        Some(text) if text.len() > MOST_BYTES => Err(refused("the text is too long")),
        Some(_) | None => Ok(()),
    }
}

fn tojson(value: &Value, _options: Kwargs) -> Result<Value, Error> {
    short(value)?;
    let json = serde_json::to_string(value).map_err(|_| refused("it cannot be JSON"))?;
    Ok(Value::from(json))
}

/// One value is one place in an address: a slash in it opens no other.
fn urlencode(value: &Value) -> Result<String, Error> {
    short(value)?;
    Ok(filters::urlencode(value)?.replace('/', "%2F"))
}

fn join(values: &Value, between: Option<String>) -> Result<String, Error> {
    short(values)?;
    let between = between.unwrap_or_default();
    let mut joined = String::new();
    for (index, value) in values.try_iter()?.enumerate() {
        if index > 0 {
            joined.push_str(&between);
        }
        let _ = write!(joined, "{value}");
        if joined.len() > MOST_BYTES {
            return Err(refused("the text is too long"));
        }
    }
    Ok(joined)
}

fn replace(text: String, from: String, to: String) -> Result<String, Error> {
    let places = if from.is_empty() { text.len() + 1 } else { text.matches(&from).count() };
    if text.len().saturating_add(places.saturating_mul(to.len())) > MOST_BYTES {
        return Err(refused("the text is too long"));
    }
    Ok(text.replace(&from, &to))
}

/// An instant in another form: `{{ scheduled_at | date("%Y-%m-%d") }}`, in UTC.
fn date(instant: String, form: Rest<String>) -> Result<String, Error> {
    let at: DateTime<Utc> =
        instant.parse().map_err(|_| refused("it is not an instant such as scheduled_at"))?;
    let form = form.first().map_or("%Y-%m-%d", String::as_str);
    if form.len() > 256 {
        return Err(refused("the form is too long"));
    }
    let mut made = String::new();
    write!(made, "{}", at.format(form)).map_err(|_| refused("the form is none"))?;
    Ok(made)
}
