//! What a value can be put through: the usual small filters, and of those that make texts longer
//! our own, which refuse to begin with a long one.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use minijinja::{
    Environment, Error, ErrorKind, Value, filters, tests,
    value::{Kwargs, Rest},
};

use super::MOST_BYTES;

pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_filter("default", filters::default);
    environment.add_filter("lower", filters::lower);
    environment.add_filter("upper", filters::upper);
    environment.add_filter("trim", filters::trim);
    environment.add_filter("length", filters::length);
    environment.add_filter("first", filters::first);
    environment.add_filter("last", filters::last);
    environment.add_filter("min", filters::min);
    environment.add_filter("max", filters::max);
    environment.add_filter("round", filters::round);
    environment.add_filter("abs", filters::abs);
    environment.add_filter("int", filters::int);
    environment.add_filter("float", filters::float);
    environment.add_filter("tojson", tojson);
    environment.add_filter("urlencode", urlencode);
    environment.add_filter("join", join);
    environment.add_filter("replace", replace);
    environment.add_filter("date", date);
    environment.add_test("defined", tests::is_defined);
    environment.add_test("undefined", tests::is_undefined);
    environment.add_test("none", tests::is_none);
    environment.add_test("string", tests::is_string);
    environment.add_test("number", tests::is_number);
    environment.add_test("sequence", tests::is_sequence);
    environment.add_test("mapping", tests::is_mapping);
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

fn urlencode(value: &Value) -> Result<String, Error> {
    short(value)?;
    filters::urlencode(value)
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
