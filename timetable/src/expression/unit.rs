use std::ops::RangeInclusive;

/// One of the seven fields of a cron expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unit {
    Second,
    Minute,
    Hour,
    DayOfMonth,
    Month,
    DayOfWeek,
    Year,
}

pub(crate) const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
pub(crate) const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// The last year that a cron expression can contain. Croner searches no further.
pub(crate) const LAST_YEAR: u16 = 4999;

/// `*/n` in the year field counts from here, so that `*/2` means the even years.
pub(crate) const FIRST_STEPPED_YEAR: u16 = 1970;

impl Unit {
    /// The units of an expression with this many fields, in the order in which they are written.
    pub(crate) fn layout(fields: usize) -> Option<&'static [Unit]> {
        use Unit::*;
        const ALL: [Unit; 7] = [Second, Minute, Hour, DayOfMonth, Month, DayOfWeek, Year];
        match fields {
            5 => Some(&ALL[1..6]),
            6 => Some(&ALL[..6]),
            7 => Some(&ALL),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Second => "second",
            Unit::Minute => "minute",
            Unit::Hour => "hour",
            Unit::DayOfMonth => "day of month",
            Unit::Month => "month",
            Unit::DayOfWeek => "day of week",
            Unit::Year => "year",
        }
    }

    /// The values that a user may write in the field.
    pub(crate) fn values(self) -> RangeInclusive<u16> {
        match self {
            Unit::Second | Unit::Minute => 0..=59,
            Unit::Hour => 0..=23,
            Unit::DayOfMonth => 1..=31,
            Unit::Month => 1..=12,
            Unit::DayOfWeek => 0..=7,
            Unit::Year => 1..=LAST_YEAR,
        }
    }

    /// The last value of `x/n` and `H/n`. Sunday is counted once, as 0.
    pub(crate) fn last(self) -> u16 {
        if self == Unit::DayOfWeek { 6 } else { *self.values().end() }
    }

    /// The value at which `*/n` begins.
    pub(crate) fn first_in_steps(self) -> u16 {
        if self == Unit::Year { FIRST_STEPPED_YEAR } else { *self.values().start() }
    }

    /// The noun for one value of the field.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Unit::DayOfMonth | Unit::DayOfWeek => "day",
            Unit::Second | Unit::Minute | Unit::Hour | Unit::Month | Unit::Year => self.name(),
        }
    }

    /// The possible values of a bare `H`. Days of month stop at 28, which every month has.
    pub(crate) fn hashed(self) -> RangeInclusive<u16> {
        match self {
            Unit::DayOfMonth => 1..=28,
            Unit::DayOfWeek => 0..=6,
            Unit::Second | Unit::Minute | Unit::Hour | Unit::Month | Unit::Year => self.values(),
        }
    }

    /// The value that a name stands for in this field, ignoring case.
    pub(crate) fn named(self, text: &str) -> Option<u16> {
        let (names, first): (&[&str], usize) = match self {
            Unit::Month => (&MONTHS, 1),
            Unit::DayOfWeek => (&WEEKDAYS, 0),
            Unit::Second | Unit::Minute | Unit::Hour | Unit::DayOfMonth | Unit::Year => {
                return None;
            }
        };
        let index = names.iter().position(|name| name.eq_ignore_ascii_case(text))?;
        u16::try_from(index + first).ok()
    }

    /// The forms of `H` in this field, for error texts.
    pub(crate) fn hashes(self) -> &'static str {
        match self {
            Unit::Second | Unit::Minute => "write `H`, `H/15`, `H(0-29)` or `H(0-29)/10`",
            Unit::Hour => "write `H`, `H/6`, `H(0-7)` or `H(9-17)/4`",
            Unit::DayOfMonth => "write `H`, `H/7`, `H(1-14)` or `H(1-28)/7`",
            Unit::Month => "write `H`, `H/3`, `H(1-6)` or `H(1-6)/2`",
            Unit::DayOfWeek => "write `H`, `H/2`, `H(1-5)` or `H(1-5)/2`",
            Unit::Year => "name the years",
        }
    }

    /// The values that the field accepts, for error texts.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Unit::Second | Unit::Minute => "a number from 0 to 59, a range, a list, `*/n` or `H`",
            Unit::Hour => "a number from 0 to 23, a range, a list, `*/n` or `H`",
            Unit::DayOfMonth => {
                "a number from 1 to 31, a range, a list, `*/n`, `L`, `L-3`, `LW`, `15W`, `?` or `H`"
            }
            Unit::Month => "a number from 1 to 12, JAN to DEC, a range, a list, `*/n` or `H`",
            Unit::DayOfWeek => {
                "a number from 0 to 7 (0 and 7 are Sunday), SUN to SAT, a range, a list, `*/n`, \
                 `5L`, `5#3`, `?` or `H`"
            }
            Unit::Year => "a year from 1 to 4999, a range, a list or `*/n`",
        }
    }
}
