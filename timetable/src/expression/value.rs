use std::ops::RangeInclusive;

use super::{Unit, unit};
use crate::error::{Fault, cut};

/// Parses one value of a field: a number within its bounds, or a name.
pub(crate) fn parse(unit: Unit, text: &str, at: usize) -> Result<u16, Fault> {
    let here = at..at + text.len();
    if let Some(value) = unit.named(text) {
        return Ok(value);
    }
    if text.is_empty() {
        return Err(Fault::new(
            format!("a value is missing in the {} field", unit.name()),
            format!("write {}", unit.expected()),
        )
        .at(here));
    }
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        let article = if unit == Unit::Hour { "an" } else { "a" };
        let problem = format!("{:?} is not {article} {}", cut(text), unit.name());
        return Err(Fault::new(problem, help(unit, text)).at(here));
    }
    let bounds: RangeInclusive<u16> = unit.values();
    match text.parse::<u16>() {
        Ok(value) if bounds.contains(&value) && text.len() <= 4 => Ok(value),
        Ok(_) | Err(_) => Err(Fault::new(
            format!("{} is out of range for the {} field", cut(text), unit.name()),
            format!("it takes {} to {}", bounds.start(), bounds.end()),
        )
        .at(here)),
    }
}

/// Parses `low-high`, which begins at byte `at`.
/// A reversed range is refused, not wrapped; `help` builds the advice on what to write instead.
pub(crate) fn range(
    unit: Unit,
    low: &str,
    high: &str,
    at: usize,
    help: impl FnOnce(u16, u16) -> String,
) -> Result<(u16, u16), Fault> {
    let after_dash = at + low.len() + 1;
    let (from, mut to) = (parse(unit, low, at)?, parse(unit, high, after_dash)?);
    // A week may begin and end on Sunday: FRI-SUN is 5-7, and SUN-SUN is one day.
    let named = unit == Unit::DayOfWeek && unit.named(high) == Some(0);
    if named && from > 0 {
        to = 7;
    }
    if from <= to {
        return Ok((from, to));
    }
    Err(Fault::new(
        format!("the range {low}-{high} in the {} field runs backwards", unit.name()),
        help(from, to),
    )
    .at(at..after_dash + high.len()))
}

/// The ends of a reversed range in the order that was probably intended, if there is such an order:
/// Sunday written as 7 is also the first day of the week, and years do not wrap around.
pub(crate) fn ordered(unit: Unit, from: u16, to: u16) -> Option<(u16, u16)> {
    match unit {
        Unit::DayOfWeek if from == 7 => Some((0, to)),
        Unit::DayOfWeek if to == 0 => Some((from, 7)),
        Unit::Year => Some((to, from)),
        Unit::Second
        | Unit::Minute
        | Unit::Hour
        | Unit::DayOfMonth
        | Unit::Month
        | Unit::DayOfWeek => None,
    }
}

/// Writes the values that a reversed range would contain if it wrapped, as a list that is accepted.
pub(crate) fn wrapped(unit: Unit, from: u16, to: u16, step: u16) -> String {
    let part = |low: u16, high: u16| {
        if low == high || step > high - low {
            low.to_string()
        } else if step == 1 {
            format!("{low}-{high}")
        } else {
            format!("{low}-{high}/{step}")
        }
    };
    if let Some((low, high)) = ordered(unit, from, to) {
        return part(low, high);
    }
    let (first, last) = (*unit.values().start(), unit.last());
    // The first value past the end of the field, counted from the field's beginning.
    let over = from + ((last - from) / step + 1) * step - last - 1 + first;
    let before = part(from, last);
    if over > to { before } else { format!("{before},{}", part(over, to)) }
}

/// The advice for a word that is not a value of the field.
fn help(unit: Unit, text: &str) -> String {
    let name = text.get(..3).map(str::to_ascii_uppercase);
    if let Some(name) = &name
        && unit.named(name).is_some()
        && text.bytes().all(|b| b.is_ascii_alphabetic())
    {
        return format!("names have three letters: write `{name}`");
    }
    let elsewhere = name.filter(|_| text.len() == 3).and_then(|name| {
        if unit::MONTHS.contains(&name.as_str()) {
            Some("a month's name belongs in the month field")
        } else if unit::WEEKDAYS.contains(&name.as_str()) {
            Some("a weekday's name belongs in the day of week field")
        } else {
            None
        }
    });
    match elsewhere {
        Some(where_to) => format!("{where_to}; this one takes {}", unit.expected()),
        None => format!("it takes {}", unit.expected()),
    }
}
