use super::{Unit, unit::FIRST_STEPPED_YEAR};

/// One item of a field's list, with names and `H` already replaced by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// Any value (`*` or `?`), optionally in steps (`*/n`).
    Any { step: Option<u16> },
    /// A single value, such as `7`.
    Value(u16),
    /// A range, such as `1-5` or `0-30/10`.
    Range { low: u16, high: u16, step: Option<u16> },
    /// Steps from a value to the end of the field, such as `5/15`.
    From { low: u16, step: u16 },
    /// `L` in the day of month: the last day.
    LastDay,
    /// `L-3` in the day of month: a number of days before the last day.
    BeforeLast(u16),
    /// `LW`: the last working day (Monday to Friday) of the month.
    LastWorkday,
    /// `15W`: the working day (Monday to Friday) nearest to a day, in the same month.
    NearestWorkday(u16),
    /// A weekday counted within the month: `5#3` is the third Friday.
    Nth { weekday: u16, nth: u16 },
    /// The last such weekday of the month: `5L` is the last Friday.
    LastOf { weekday: u16 },
}

impl Item {
    /// The first value, the last possible value and the step;
    /// `None` for the forms that only the day fields have.
    pub(crate) fn run(self, unit: Unit) -> Option<(u16, u16, u16)> {
        let last = unit.last();
        match self {
            Item::Value(value) => Some((value, value, 1)),
            Item::Range { low, high, step } => Some((low, high, step.unwrap_or(1))),
            // Only Sunday written as 7 lies beyond the end of the field.
            Item::From { low, step } => Some((low, last.max(low), step)),
            Item::Any { step: Some(step) } => Some((unit.first_in_steps(), last, step)),
            Item::Any { step: None } => Some((*unit.values().start(), last, 1)),
            Item::LastDay
            | Item::BeforeLast(_)
            | Item::LastWorkday
            | Item::NearestWorkday(_)
            | Item::Nth { .. }
            | Item::LastOf { .. } => None,
        }
    }

    /// The years that an item of the year field contains.
    pub(crate) fn years(self) -> impl Iterator<Item = u16> {
        let (low, high, step) = self.run(Unit::Year).unwrap_or((1, 0, 1));
        (low..=high).step_by(usize::from(step))
    }

    /// The item as croner's strict parser expects it, except `L-3`, which croner does not support.
    ///
    /// Croner reads three forms differently, so this crate's reading is written out: `*/n` in the
    /// year counts from 1970; `x/n` ends where the field ends; in the day of week the field ends
    /// with Saturday, so Sunday is not counted a second time as 7.
    pub(crate) fn canonical(self, unit: Unit) -> String {
        match self {
            Item::Any { step: None } => "*".to_owned(),
            Item::Any { step: Some(step) } if unit == Unit::Year => {
                format!("{}-{}/{step}", FIRST_STEPPED_YEAR, unit.last())
            }
            Item::Any { step: Some(step) } => format!("*/{step}"),
            Item::Value(value) => value.to_string(),
            Item::Range { low, high, step: None } => format!("{low}-{high}"),
            Item::Range { low, high, step: Some(step) } => format!("{low}-{high}/{step}"),
            // Only Sunday written as 7 lies beyond the end of the field.
            Item::From { low, .. } if low > unit.last() => low.to_string(),
            Item::From { low, step } => format!("{low}-{}/{step}", unit.last()),
            Item::LastDay => "L".to_owned(),
            Item::BeforeLast(days) => format!("L-{days}"),
            Item::LastWorkday => "LW".to_owned(),
            Item::NearestWorkday(day) => format!("{day}W"),
            Item::Nth { weekday, nth } => format!("{weekday}#{nth}"),
            Item::LastOf { weekday } => format!("{weekday}L"),
        }
    }

    /// The item as croner's strict parser expects it, for months of `length` days.
    pub(crate) fn canonical_of(self, unit: Unit, length: u16) -> String {
        match self {
            // The grammar guarantees that at least the first day of every month remains.
            Item::BeforeLast(days) => length.saturating_sub(days).max(1).to_string(),
            Item::Any { .. }
            | Item::Value(_)
            | Item::Range { .. }
            | Item::From { .. }
            | Item::LastDay
            | Item::LastWorkday
            | Item::NearestWorkday(_)
            | Item::Nth { .. }
            | Item::LastOf { .. } => self.canonical(unit),
        }
    }
}
