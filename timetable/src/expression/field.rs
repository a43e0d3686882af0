//! The strict grammar of one field.
//!
//! ```text
//! field = item *( "," item )            day of week: an optional "+" in front, see below
//! item  = ( "*" | value | value "-" value | hash ) [ "/" step ]
//!       | "?"                           both day fields, alone
//!       | "L" | "L-" 1..27 | "LW" | value "W"   day of month
//!       | value "L" | value "#" 1..5    day of week
//! hash  = "H" [ "(" value "-" value ")" ]
//! value = 1 to 4 digits, or a whole name in the month and the day of week
//! ```
//!
//! This grammar is checked before croner sees the text: croner accepts far more than it should
//! (`1,,2`, `JANFEB`, `15W99`), and its errors name no field.
//! Croner gets accepted fields in a canonical form.

use std::ops::Range;

use super::{Item, Unit, hashed::Hashed, value};
use crate::error::Fault;

/// One parsed field of a cron expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) unit: Unit,
    pub(crate) items: Vec<Item>,
    /// Whether the field begins with `*` or `?`. In the time of day this makes the expression a
    /// wildcard. In a day field it means that day of month and day of week must both match.
    pub(crate) starred: bool,
    /// Whether the field contains an `H`.
    pub(crate) hashed: bool,
    /// Whether the field begins with `+`: day of month and day of week must both match.
    pub(crate) both: bool,
}

impl Field {
    /// Parses `text`, which begins at byte `start` of the expression.
    pub(crate) fn parse(
        unit: Unit,
        text: &str,
        start: usize,
        seed: &[u8; 16],
    ) -> Result<Field, Fault> {
        let (both, list, start) = match text.strip_prefix('+') {
            Some(rest) if unit == Unit::DayOfWeek => (true, rest, start + 1),
            Some(_) | None => (false, text, start),
        };
        let parser = Parser { unit, seed, alone: !list.contains(',') };
        let mut items = Vec::new();
        let mut at = start;
        for text in list.split(',') {
            items.push(parser.item(text, at)?);
            at += text.len() + 1;
        }
        if items.contains(&Item::LastDay) && items.contains(&Item::LastWorkday) {
            return Err(Fault::new(
                "`L` and `LW` cannot stand in one list",
                "use two expressions in union, one with `L` and one with `LW`",
            )
            .at(start..start + list.len()));
        }
        let starred = list.starts_with(['*', '?']);
        Ok(Field { unit, items, starred, hashed: list.split(',').any(Hashed::starts), both })
    }

    /// The value of a field that is left out: second 0, or any year.
    pub(crate) fn default_of(unit: Unit) -> Field {
        let second = unit == Unit::Second;
        let item = if second { Item::Value(0) } else { Item::Any { step: None } };
        Field { unit, items: vec![item], starred: !second, hashed: false, both: false }
    }

    /// The field in a canonical form: equal meanings have equal texts.
    pub(crate) fn canonical(&self) -> String {
        let items: Vec<String> = self.items.iter().map(|item| item.canonical(self.unit)).collect();
        items.join(",")
    }

    /// The field as croner's strict parser expects it, for months of `length` days.
    pub(crate) fn canonical_of(&self, length: u16) -> String {
        let items = self.items.iter().map(|item| item.canonical_of(self.unit, length));
        items.collect::<Vec<_>>().join(",")
    }

    /// Whether the field counts days back from the end of the
    /// month in a way that croner does not support.
    pub(crate) fn counts_back(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::BeforeLast(_)))
    }

    /// Whether the field contains every value, in whatever form it was typed.
    pub(crate) fn full(&self) -> bool {
        let runs = || self.items.iter().filter_map(|item| item.run(self.unit));
        let named = |value: u16| {
            runs().any(|(low, high, step)| {
                (low..=high).contains(&value) && (value - low).is_multiple_of(step)
            })
        };
        // Sunday is both 0 and 7.
        let sunday = |value: u16| self.unit == Unit::DayOfWeek && value == 0 && named(7);
        (*self.unit.values().start()..=self.unit.last()).all(|value| named(value) || sunday(value))
    }

    /// Whether the field restricts nothing: `*`, `?` or `*/1`.
    /// Steps of years, even of one, begin with 1970 and so do restrict.
    /// In a list, one of these must come first for the field to count as starred.
    pub(crate) fn any(&self) -> bool {
        let every = [Item::Any { step: None }, Item::Any { step: Some(1) }];
        let forms = if self.unit == Unit::Year { &every[..1] } else { &every[..] };
        self.items.first().is_some_and(|item| forms.contains(item))
    }
}

/// How many days before the end of the month `L-n` may name: every month has such a day.
const BEFORE_LAST: std::ops::RangeInclusive<u16> = 1..=27;

struct Parser<'a> {
    unit: Unit,
    seed: &'a [u8; 16],
    /// Whether the field is a single item.
    alone: bool,
}

impl Parser<'_> {
    fn item(&self, text: &str, at: usize) -> Result<Item, Fault> {
        let unit = self.unit;
        let here = at..at + text.len();
        if text.is_empty() {
            return Err(Fault::new(
                format!("an empty item in the {} field", unit.name()),
                match self.alone {
                    true => format!("write {}", unit.expected()),
                    false => format!("remove the extra comma or write {}", unit.expected()),
                },
            )
            .at(here));
        }
        let (head, step) = match text.split_once('/') {
            None => (text, None),
            Some((head, step)) => (head, Some(self.step(step, at + head.len() + 1)?)),
        };
        if Hashed::starts(head) {
            return Hashed::parse(unit, head, at)?.resolve(step, self.seed);
        }
        match head {
            "*" if step.is_none() && !self.alone => Err(Fault::new(
                format!("`*` inside a list of the {} field", unit.name()),
                "`*` alone already means every value: remove the rest of the list, or the `*`",
            )
            .at(here)),
            "*" => Ok(Item::Any { step }),
            "" => Err(Fault::new(
                format!("a step without a start in the {} field", unit.name()),
                format!(
                    "write `*{text}` for every value in steps, or `{}{text}` for a start",
                    unit.first_in_steps()
                ),
            )
            .at(here)),
            _ => match (self.special(head, at)?, step) {
                (Some(item), None) => Ok(item),
                (Some(_), Some(_)) => Err(Fault::new(
                    format!("a step on {head} in the {} field", unit.name()),
                    "steps go with `*`, a value, a range or `H` only",
                )
                .at(here)),
                (None, step) => self.plain(head, at, step),
            },
        }
    }

    /// Parses a value or a range, optionally in steps.
    fn plain(&self, head: &str, at: usize, step: Option<u16>) -> Result<Item, Fault> {
        let Some((low, high)) = head.split_once('-') else {
            let low = value::parse(self.unit, head, at)?;
            return Ok(match step {
                None => Item::Value(low),
                Some(step) => Item::From { low, step },
            });
        };
        let unit = self.unit;
        let (low, high) = value::range(unit, low, high, at, |low, high| {
            let list = value::wrapped(unit, low, high, step.unwrap_or(1));
            format!("a range does not wrap: write `{list}`")
        })?;
        Ok(Item::Range { low, high, step })
    }

    fn step(&self, text: &str, at: usize) -> Result<u16, Fault> {
        let here = at..at + text.len();
        let fault = |problem: String| {
            Err(Fault::new(problem, "a step is a whole number from 1, as in `*/2`")
                .at(here.clone()))
        };
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return fault(format!("{:?} is not a step", crate::error::cut(text)));
        }
        match text.parse::<u16>() {
            Ok(0) => fault("a step of zero never moves on".to_owned()),
            Ok(step) if step <= 9999 => Ok(step),
            Ok(_) | Err(_) => fault("the step is too large; it has at most four digits".to_owned()),
        }
    }

    /// Parses `?`, `L`, `LW`, `15W`, `5L` and `5#3`; `None` for other text.
    fn special(&self, head: &str, at: usize) -> Result<Option<Item>, Fault> {
        let here = at..at + head.len();
        match self.unit {
            Unit::DayOfMonth => self.day_of_month(head, at, here),
            Unit::DayOfWeek => self.day_of_week(head, at, here),
            Unit::Second | Unit::Minute | Unit::Hour | Unit::Month | Unit::Year => Ok(None),
        }
    }

    fn question(&self, here: Range<usize>) -> Result<Option<Item>, Fault> {
        if self.alone {
            return Ok(Some(Item::Any { step: None }));
        }
        Err(Fault::new("`?` inside a list", "`?` means any day and stands alone in its field")
            .at(here))
    }

    fn day_of_month(
        &self,
        head: &str,
        at: usize,
        here: Range<usize>,
    ) -> Result<Option<Item>, Fault> {
        if head == "?" {
            return self.question(here);
        }
        if head.eq_ignore_ascii_case("L") {
            return Ok(Some(Item::LastDay));
        }
        if head.eq_ignore_ascii_case("LW") {
            return Ok(Some(Item::LastWorkday));
        }
        if let Some(days) = head.strip_prefix(['L', 'l']).and_then(|rest| rest.strip_prefix('-')) {
            let known = days.parse::<u16>().ok().filter(|known| BEFORE_LAST.contains(known));
            let is_number = days.len() <= 2 && days.bytes().all(|b| b.is_ascii_digit());
            return match known.filter(|_| is_number) {
                Some(days) => Ok(Some(Item::BeforeLast(days))),
                None => Err(Fault::new(
                    format!(
                        "{:?} does not say how many days before the last",
                        crate::error::cut(days)
                    ),
                    "write `L-1` to `L-27`: `L-3` is three days before the last day of the month",
                )
                .at(here)),
            };
        }
        if head.starts_with(['L', 'l']) {
            return Err(Fault::new(
                format!("{:?} is not a day of month", crate::error::cut(head)),
                "`L` is the last day, `L-3` three days before it, and `LW` the last weekday (Monday to \
                 Friday)",
            )
            .at(here));
        }
        match head.strip_suffix(['W', 'w']) {
            None => Ok(None),
            Some("") => Err(Fault::new(
                "`W` without a day",
                "write the day in front, as in `15W`: the weekday (Monday to Friday) nearest to the 15th",
            )
            .at(here)),
            Some(day) => Ok(Some(Item::NearestWorkday(value::parse(self.unit, day, at)?))),
        }
    }

    fn day_of_week(
        &self,
        head: &str,
        at: usize,
        here: Range<usize>,
    ) -> Result<Option<Item>, Fault> {
        if head == "?" {
            return self.question(here);
        }
        if head.eq_ignore_ascii_case("L") {
            return Err(Fault::new(
                "`L` alone is not a day of week",
                "write `6` for every Saturday, or `5L` for the last Friday of the month",
            )
            .at(here));
        }
        if let Some((day, nth)) = head.split_once('#') {
            let weekday = value::parse(self.unit, day, at)?;
            return match nth.as_bytes() {
                [nth @ b'1'..=b'5'] => Ok(Some(Item::Nth { weekday, nth: u16::from(nth - b'0') })),
                _ => Err(Fault::new(
                    format!("{:?} does not say which of the month", crate::error::cut(nth)),
                    "the sign # is followed by one digit from 1 to 5, as in `5#3` for the third \
                     Friday; the last Friday is `5L`",
                )
                .at(at + day.len() + 1..here.end)),
            };
        }
        match head.strip_suffix(['L', 'l']) {
            Some(day) => Ok(Some(Item::LastOf { weekday: value::parse(self.unit, day, at)? })),
            None => Ok(None),
        }
    }
}
