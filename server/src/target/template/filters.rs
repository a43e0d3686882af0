//! The filters and tests. Each filter is charged for its input and its output. Filters that make
//! texts longer are implemented here, because they must check the budget before they start.

use std::{fmt::Write, sync::Arc};

use chrono::{DateTime, Utc};
use minijinja::{
    Environment, Error, ErrorKind, State, Value, filters, tests,
    value::{Kwargs, Rest},
};

use super::{
    MAX_OUTPUT_BYTES,
    budget::Budget,
    printing::{TOO_LONG, json, written},
};

/// A list of names, and a function from each name to its value.
macro_rules! named {
    ($names:ident, $all:ident by $value:path: $($name:literal => $what:expr),+ $(,)?) => {
        pub(super) const $names: &[&str] = &[$($name),+];

        fn $all() -> Vec<(&'static str, Value)> {
            vec![$(($name, $value($what))),+]
        }
    };
}

named! { FILTERS, filters by Value::from_function:
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
    "tojson" => tojson_given,
    "urlencode" => urlencode,
    "join" => join_given,
    "replace" => replace,
    "date" => date,
}

named! { TESTS, tests by Value::from_function:
    "defined" => tests::is_defined,
    "undefined" => tests::is_undefined,
    "none" => tests::is_none,
    "string" => tests::is_string,
    "number" => tests::is_number,
    "sequence" => tests::is_sequence,
    "mapping" => tests::is_mapping,
}

/// Adds the filters and tests, charged to `budget`.
pub(super) fn add(environment: &mut Environment<'_>, budget: &Arc<Budget>) {
    for (name, inner) in filters() {
        let budget = Arc::clone(budget);
        let charged = move |state: &mut State<'_, '_>, given: Rest<Value>| {
            for value in given.iter() {
                budget.charge(size(value))?;
            }
            let made = match (name, given.as_slice()) {
                ("tojson", [value, ..]) => tojson(value, &budget)?,
                ("join", [values, rest @ ..]) => join(values, rest.first(), &budget)?,
                _ => inner.call(state, &given)?,
            };
            budget.charge(size(&made))?;
            Ok::<Value, Error>(made)
        };
        environment.add_filter(name, charged);
    }
    for (name, inner) in tests() {
        let test = move |state: &mut State<'_, '_>, given: Rest<Value>| inner.call(state, &given);
        environment.add_test(name, test);
    }
}

/// The approximate size of a value: the bytes of a text, or the members of anything else.
fn size(value: &Value) -> usize {
    16 + value.as_str().map_or_else(|| value.len().unwrap_or(0), str::len)
}

fn refused(problem: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, problem)
}

fn short(value: &Value) -> Result<(), Error> {
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    match value.as_str() {
        Some(text) if text.len() > MAX_OUTPUT_BYTES => Err(refused(TOO_LONG)),
        Some(_) | None => Ok(()),
    }
}

/// Checks only the arguments of `tojson` and `join`, because the filters themselves need the
/// budget.
fn tojson_given(_value: &Value, _options: Kwargs) {}

fn join_given(_values: &Value, _between: Option<String>) {}

fn tojson(value: &Value, budget: &Budget) -> Result<Value, Error> {
    short(value)?;
    Ok(Value::from(json(value, budget)?))
}

/// Converts a value to one path segment of a URL: slashes are escaped.
fn urlencode(value: &Value) -> Result<String, Error> {
    short(value)?;
    Ok(filters::urlencode(value)?.replace('/', "%2F"))
}

fn join(values: &Value, between: Option<&Value>, budget: &Budget) -> Result<Value, Error> {
    short(values)?;
    let between = between.map_or(Ok(String::new()), |between| written(between, budget))?;
    let mut joined = String::new();
    for (index, value) in values.try_iter()?.enumerate() {
        if index > 0 {
            joined.push_str(&between);
        }
        let part = written(&value, budget)?;
        budget.charge(part.len() + between.len() + 1)?;
        joined.push_str(&part);
        if joined.len() > MAX_OUTPUT_BYTES {
            return Err(refused(TOO_LONG));
        }
    }
    Ok(Value::from(joined))
}

fn replace(text: String, from: String, to: String) -> Result<String, Error> {
    let places = if from.is_empty() { text.len() + 1 } else { text.matches(&from).count() };
    if text.len().saturating_add(places.saturating_mul(to.len())) > MAX_OUTPUT_BYTES {
        return Err(refused(TOO_LONG));
    }
    Ok(text.replace(&from, &to))
}

/// Formats an instant: `{{ scheduled_at | date("%Y-%m-%d") }}`, in UTC.
fn date(instant: String, form: Rest<String>) -> Result<String, Error> {
    let at: DateTime<Utc> =
        instant.parse().map_err(|_| refused("it is not an instant such as scheduled_at"))?;
    let form = form.first().map_or("%Y-%m-%d", String::as_str);
    if form.len() > 256 {
        return Err(refused("the format is too long"));
    }
    let mut made = String::new();
    write!(made, "{}", at.format(form)).map_err(|_| refused("the format is not valid"))?;
    Ok(made)
}
