//! `H`: a value that spreads schedules over the field instead of starting all of them at zero.
//!
//! The forms are those of Jenkins. `H` is one value of the field (days of month stop at 28).
//! `H(0-29)` is one value of a range. `H/15` is every fifteenth value from a hashed start.
//! `H(0-29)/10` combines both. The value depends only on the schedule's seed and on the field, so
//! it survives restarts, edits of other fields and a move to another node.

use super::{Item, Unit, value};
use crate::{error::Fault, hash};

pub(crate) struct Hashed {
    unit: Unit,
    low: u16,
    high: u16,
}

impl Hashed {
    /// Whether an item begins with `H`. No name of a month or weekday begins with an `H`.
    pub(crate) fn starts(item: &str) -> bool {
        item.starts_with(['H', 'h'])
    }

    /// Parses `H` or `H(low-high)`, which begins at byte `at`.
    pub(crate) fn parse(unit: Unit, text: &str, at: usize) -> Result<Hashed, Fault> {
        let here = at..at + text.len();
        if unit == Unit::Year {
            return Err(Fault::new("`H` in the year field", "name the years").at(here));
        }
        let rest = &text[1..];
        if rest.is_empty() {
            let values = unit.hashed();
            return Ok(Hashed { unit, low: *values.start(), high: *values.end() });
        }
        let bounds = rest
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'))
            .and_then(|bounds| bounds.split_once('-'));
        let Some((low, high)) = bounds else {
            return Err(Fault::new(
                format!("{:?} is not a form of `H`", crate::error::cut(text)),
                unit.hashes(),
            )
            .at(here));
        };
        let (low, high) = value::range(unit, low, high, at + 2, |low, high| {
            if let Some((low, high)) = value::ordered(unit, low, high) {
                return format!("a range does not wrap: write `H({low}-{high})`");
            }
            // The help suggests the larger part of the values that a wrapping range would contain.
            let (first, last) = (*unit.values().start(), unit.last());
            let (from, to) = if last - low < high - first { (first, high) } else { (low, last) };
            format!(
                "the smaller value comes first and a range does not wrap: write \
                 `H({high}-{low})`, or one side of it, `H({from}-{to})`"
            )
        })?;
        Ok(Hashed { unit, low, high })
    }

    /// Chooses the values for a seed.
    pub(crate) fn resolve(self, step: Option<u16>, seed: &[u8; 16]) -> Result<Item, Fault> {
        let Hashed { unit, low, high } = self;
        let width = high - low + 1;
        // With steps, the start must lie within the first step.
        let choices = step.map_or(width, |step| step.min(width));
        // The offset is below `choices`, which is a u16.
        let offset = hash::below(seed, unit as u64, u64::from(choices)) as u16;
        let start = low + offset;
        Ok(match step {
            None => Item::Value(start),
            Some(step) => Item::Range { low: start, high, step: Some(step) },
        })
    }
}
