//! Translates expressions of other dialects into the dialect of this crate.
//!
//! Quartz and EventBridge count weekdays from 1, which is Sunday, and let ranges wrap.
//! EventBridge puts the minute first and the year last. The result must be checked like any other
//! expression: a translation guarantees the same meaning, not a valid expression.

use std::fmt;

use crate::{
    error::cut,
    expression::{Unit, unit::WEEKDAYS},
};

/// The longest text that is translated, in bytes: this crate's limit plus room for `cron()`.
const LONGEST: usize = 300;

/// Maximum number of values in the list that replaces a wrapped range.
const MAX_VALUES: usize = 60;

/// The expression syntax of another scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Quartz: second, minute, hour, day of month, month, day of week, and optionally a year.
    Quartz,
    /// EventBridge: `cron(minute hour day-of-month month day-of-week year)`, `rate(5 minutes)` or
    /// `at(2027-01-15T08:00:00)`. `cron(...)` around the fields may be left out.
    EventBridge,
}

/// Why an expression cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialectError(String);

impl fmt::Display for DialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DialectError {}

fn no<T>(problem: impl Into<String>) -> Result<T, DialectError> {
    Err(DialectError(problem.into()))
}

impl Dialect {
    /// Translates an expression into this crate's dialect.
    ///
    /// # Errors
    ///
    /// The text is not an expression of this dialect.
    pub fn translate(self, text: &str) -> Result<String, DialectError> {
        if text.len() > LONGEST {
            return no(format!("it is {} bytes long; the longest is {LONGEST}", text.len()));
        }
        let text = text.trim();
        match self {
            Dialect::Quartz => quartz(text),
            Dialect::EventBridge => event_bridge(text),
        }
    }
}

fn quartz(text: &str) -> Result<String, DialectError> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    match words[..] {
        [second, minute, hour, day, month, week] => {
            fields([second, minute, hour, day, month, week], None)
        }
        [second, minute, hour, day, month, week, year] => {
            fields([second, minute, hour, day, month, week], Some(year))
        }
        _ => no(format!(
            "it has {} fields; Quartz has six, second first, and perhaps a year",
            words.len()
        )),
    }
}

fn event_bridge(text: &str) -> Result<String, DialectError> {
    let inside = |call: &str| text.strip_prefix(call)?.strip_suffix(')').map(str::trim);
    if let Some(rate) = inside("rate(") {
        return rate_of(rate);
    }
    if let Some(at) = inside("at(") {
        return once(at);
    }
    let words: Vec<&str> = inside("cron(").unwrap_or(text).split_ascii_whitespace().collect();
    match words[..] {
        [minute, hour, day, month, week, year] => {
            let year = (year != "*").then_some(year);
            let all = fields(["0", minute, hour, day, month, week], year)?;
            // An expression without a seconds field fires at second 0.
            Ok(match year {
                None => all.strip_prefix("0 ").map_or(all.clone(), str::to_owned),
                Some(_) => all,
            })
        }
        _ => no(format!(
            "it has {} fields; EventBridge has six: minute, hour, day of month, month, day of \
             week, year",
            words.len()
        )),
    }
}

/// Translates `rate(5 minutes)`, which is counted from the schedule's anchor.
fn rate_of(text: &str) -> Result<String, DialectError> {
    let parts: Vec<&str> = text.split_ascii_whitespace().collect();
    let [number, unit] = parts[..] else {
        return no("rate(...) takes a number and a unit, such as rate(5 minutes)");
    };
    let unit = match unit {
        "minute" | "minutes" => "m",
        "hour" | "hours" => "h",
        "day" | "days" => "d",
        other => return no(format!("{:?} is not a unit of rate(...)", cut(other))),
    };
    match number.parse::<u32>() {
        Ok(number @ 1..) => Ok(format!("@every {number}{unit}")),
        Ok(_) | Err(_) => no(format!("{:?} is not a number of rate(...)", cut(number))),
    }
}

/// Translates `at(2027-01-15T08:00:00)`, a time on the zone's clock.
/// `@at` has no zone, so the translation is a cron expression with a date and a year.
fn once(text: &str) -> Result<String, DialectError> {
    let Ok(at) = chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S") else {
        return no("at(...) takes an instant such as at(2027-01-15T08:00:00)");
    };
    Ok(at.format("%-S %-M %-H %-d %-m * %Y").to_string())
}

fn fields(six: [&str; 6], year: Option<&str>) -> Result<String, DialectError> {
    const UNITS: [Unit; 6] =
        [Unit::Second, Unit::Minute, Unit::Hour, Unit::DayOfMonth, Unit::Month, Unit::DayOfWeek];
    let [.., day, _, week] = six;
    match [day, week].iter().filter(|field| **field == "?").count() {
        1 => {}
        0 if day == "*" || week == "*" => {}
        0 => {
            return no("day of month and day of week are both given; in this dialect one is `?`");
        }
        _ => return no("day of month and day of week are both `?`"),
    }
    let mut made = Vec::with_capacity(7);
    for (unit, text) in UNITS.into_iter().zip(six) {
        made.push(list(unit, text)?);
    }
    // This crate writes an unrestricted field as a star, whether it was `*` or `?`.
    for index in [3, 5] {
        if made[index] == "?" {
            "*".clone_into(&mut made[index]);
        }
    }
    made.extend(year.filter(|year| *year != "*").map(str::to_owned));
    Ok(made.join(" "))
}

fn list(unit: Unit, text: &str) -> Result<String, DialectError> {
    let items: Result<Vec<String>, _> = text.split(',').map(|text| item(unit, text)).collect();
    Ok(items?.join(","))
}

fn item(unit: Unit, text: &str) -> Result<String, DialectError> {
    let (head, step) = match text.split_once('/') {
        Some((head, step)) => (head, Some(step)),
        None => (text, None),
    };
    let behind = step.map_or(String::new(), |step| format!("/{step}"));
    if unit == Unit::DayOfWeek {
        if head.eq_ignore_ascii_case("L") {
            return Ok("6".to_owned());
        }
        if let Some((day, nth)) = head.split_once('#') {
            return Ok(format!("{}#{nth}", value(unit, day)?));
        }
        if let Some(day) = head.strip_suffix(['L', 'l']) {
            return Ok(format!("{}L", value(unit, day)?));
        }
    }
    // The minus sign of `L-3` does not make it a range.
    let range = head.split_once('-').filter(|(low, _)| !low.eq_ignore_ascii_case("L"));
    if let Some((low, high)) = range {
        let (low, high) = (value(unit, low)?, value(unit, high)?);
        return match (number(unit, &low), number(unit, &high)) {
            (Some(from), Some(to)) if from > to => wrapped(unit, from, to, step),
            _ => Ok(format!("{low}-{high}{behind}")),
        };
    }
    // In Quartz, `/5` means `0/5`: steps from the first value on.
    let head = if head.is_empty() && step.is_some() { "*".to_owned() } else { value(unit, head)? };
    Ok(format!("{head}{behind}"))
}

/// Translates a value into this crate's numbering. Only the numbers of weekdays differ.
fn value(unit: Unit, text: &str) -> Result<String, DialectError> {
    if unit != Unit::DayOfWeek || text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    match text.parse::<u16>() {
        Ok(day @ 1..=7) => Ok((day - 1).to_string()),
        Ok(_) | Err(_) => {
            no(format!("{:?} is not a day of the week; they are 1 (Sunday) to 7", cut(text)))
        }
    }
}

fn number(unit: Unit, text: &str) -> Option<u16> {
    unit.named(text).or_else(|| text.parse().ok())
}

/// Writes a range that wraps around the end of its field as a list.
fn wrapped(unit: Unit, from: u16, to: u16, step: Option<&str>) -> Result<String, DialectError> {
    let (first, last) = (*unit.values().start(), unit.last());
    let step = step.map_or(Ok(1), str::parse::<usize>).ok().filter(|step| *step > 0);
    let (Some(step), true) = (step, unit != Unit::Year && from <= last && to >= first) else {
        return no("a range runs backwards, or its step is not a number");
    };
    let values = (from..=last).chain(first..=to).step_by(step).take(MAX_VALUES);
    let mut values: Vec<u16> = values.collect();
    values.sort_unstable();
    let words = values.iter().map(|value| match unit {
        Unit::DayOfWeek => WEEKDAYS[usize::from(*value) % 7].to_owned(),
        Unit::Second | Unit::Minute | Unit::Hour | Unit::DayOfMonth | Unit::Month | Unit::Year => {
            value.to_string()
        }
    });
    Ok(words.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartz_expressions_are_translated() {
        for (there, here) in [
            ("0 0 12 * * ?", "0 0 12 * * *"),
            ("0 15 10 ? * 2-6", "0 15 10 * * 1-5"),
            ("0 15 10 ? * MON-FRI 2027", "0 15 10 * * MON-FRI 2027"),
            ("0 15 10 ? * 6L", "0 15 10 * * 5L"),
            ("0 15 10 ? * 6#3", "0 15 10 * * 5#3"),
            ("0 15 10 ? * L", "0 15 10 * * 6"),
            ("0 15 10 L-3 * ?", "0 15 10 L-3 * *"),
            ("0 0/5 14,18 * * ?", "0 0/5 14,18 * * *"),
            ("0 0 22-2 * * ?", "0 0 0,1,2,22,23 * * *"),
            ("0 0 1 ? * FRI-MON *", "0 0 1 * * SUN,MON,FRI,SAT"),
            ("0 0 1 ? * 2/2", "0 0 1 * * 1/2"),
        ] {
            assert_eq!(Dialect::Quartz.translate(there).as_deref(), Ok(here), "{there}");
        }
        for text in ["* * * * *", "0 0 1 ? * 0", "0 0 1 ? * 8", "0 0 1 5 * 2", "0 0 1 ? * ?", ""] {
            assert!(Dialect::Quartz.translate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn event_bridge_expressions_are_translated() {
        for (there, here) in [
            ("cron(0 10 * * ? *)", "0 10 * * *"),
            ("cron(0 18 ? * MON-FRI *)", "0 18 * * MON-FRI"),
            ("15 10 ? * 6L 2027-2028", "0 15 10 * * 5L 2027-2028"),
            ("cron(0/15 * ? * 2 *)", "0/15 * * * 1"),
            ("rate(5 minutes)", "@every 5m"),
            ("rate(1 day)", "@every 1d"),
            ("at(2027-01-15T08:00:00)", "0 0 8 15 1 * 2027"),
        ] {
            assert_eq!(Dialect::EventBridge.translate(there).as_deref(), Ok(here), "{there}");
        }
        for text in ["cron(0 10 * * *)", "rate(0 minutes)", "rate(5)", "at(tomorrow)", "rate(", ""]
        {
            assert!(Dialect::EventBridge.translate(text).is_err(), "{text}");
        }
    }
}
