use croner::{CronPattern, Weekday, parser::CronParser};

use super::{Clock, Days, Pattern, days::Shapes};
use crate::{
    error::Fault,
    expression::{Cron, Unit, unit::LAST_YEAR},
};

const LONGEST: u32 = 31;
/// One month of each length from 28 to 31 days.
const MONTHS: [Month; 4] = [
    Month { year: 2023, month: 2, length: 28 },
    Month { year: 2024, month: 2, length: 29 },
    Month { year: 2023, month: 4, length: 30 },
    Month { year: 2023, month: 1, length: 31 },
];

/// A month of some year, and its number of days.
#[derive(Clone, Copy)]
struct Month {
    year: i32,
    month: u32,
    length: u32,
}

impl Pattern {
    /// The text that determines the pattern of a cron expression: equal keys mean equal patterns.
    pub(crate) fn key(cron: &Cron) -> String {
        let both = if cron.both_days() { '&' } else { '|' };
        let class = if cron.fixed() { 'f' } else { 'w' };
        format!("{class}{both}{} {}", cron.canonical(), cron.field(Unit::Year).canonical())
    }

    /// Compiles a checked expression. Refuses an expression that no date ever matches.
    pub(crate) fn compile(cron: &Cron) -> Result<Pattern, Fault> {
        let parsed = parse(cron, LONGEST)?;
        let mask = |values: Vec<u16>| {
            let mut mask = [0];
            set(&mut mask, &values);
            mask[0]
        };
        let pattern = Pattern {
            days: Days::new(mask(parsed.months.values()), shapes(cron, &parsed)?, years(cron)),
            clock: Clock {
                hours: mask(parsed.hours.values()),
                minutes: mask(parsed.minutes.values()),
                seconds: mask(parsed.seconds.values()),
            },
            fixed: cron.fixed(),
        };
        if pattern.days.ever() { Ok(pattern) } else { Err(never(cron)) }
    }
}

/// The expression as croner matches it in months of `length` days.
fn parse(cron: &Cron, length: u32) -> Result<CronPattern, Fault> {
    // Croner keeps years in a table of five thousand bytes, and filling and reading that table is
    // most of the cost of a pattern. Years need no matcher, so croner gets a single year.
    let text = format!("{} 2000", cron.canonical_of(u16::try_from(length).unwrap_or(31)));
    let parser = CronParser::builder().dom_and_dow(cron.both_days()).build();
    Ok(parser.parse(&text).map_err(refused)?.pattern)
}

/// Croner's answers for every day of every shape of month.
fn shapes(cron: &Cron, parsed: &CronPattern) -> Result<Shapes, Fault> {
    let longest = month(parsed, MONTHS[3])?;
    let mut shapes = [longest; 4];
    // Only `L`, `W` and `#` depend on the end of the month. Without them, a shorter month matches
    // like the beginning of a longer one, which saves three quarters of the checks.
    let by_length = parsed.days.has_modifiers() || parsed.days_of_week.has_modifiers();
    let counts_back = cron.field(Unit::DayOfMonth).counts_back();
    for (shape, of_length) in shapes.iter_mut().zip(MONTHS).take(3) {
        if counts_back {
            *shape = month(&parse(cron, of_length.length)?, of_length)?;
        } else if by_length {
            *shape = month(parsed, of_length)?;
        } else {
            shape.iter_mut().for_each(|days| *days &= (1 << (of_length.length + 1)) - 1);
        }
    }
    Ok(shapes)
}

/// Croner's answers for a month of one length, by the weekday of its 1st.
fn month(parsed: &CronPattern, of: Month) -> Result<[u32; 7], Fault> {
    let mut shape = [0; 7];
    for (first, days) in (0..).zip(&mut shape) {
        for day in 1..=of.length {
            let weekday = Weekday::from_days_from_sunday(first + day - 1);
            if parsed.day_match(of.year, of.month, day, weekday).map_err(refused)? {
                *days |= 1 << day;
            }
        }
    }
    Ok(shape)
}

/// A bit for every year that the expression contains, or `None` for all years.
fn years(cron: &Cron) -> Option<Box<[u64]>> {
    let field = cron.field(Unit::Year);
    if field.any() {
        return None;
    }
    let mut years = vec![0; usize::from(LAST_YEAR) / 64 + 1];
    for year in field.items.iter().flat_map(|item| item.years()) {
        set(&mut years, &[year]);
    }
    Some(years.into_boxed_slice())
}

fn set(mask: &mut [u64], values: &[u16]) {
    for value in values.iter().map(|value| usize::from(*value)) {
        mask[value / 64] |= 1 << (value % 64);
    }
}

/// An expression that passes this crate's grammar also passes croner's parser.
/// Should the two ever differ, the user gets this error instead of a panic;
/// a property test should find the difference first.
fn refused(error: croner::errors::CronError) -> Fault {
    Fault::new(format!("the parser refused it: {error}"), "write it in a simpler form")
}

fn never(cron: &Cron) -> Fault {
    let both = cron.both_days()
        && [Unit::DayOfMonth, Unit::DayOfWeek].iter().all(|unit| !cron.field(*unit).any());
    let help = if both {
        "day of month and day of week must both match, because one of the two begins with `*` or \
         `+`; choose days that can meet"
    } else if !cron.field(Unit::Year).any() {
        "choose a day that the month has in one of these years; 29 February exists in leap years"
    } else {
        "choose a day that the month has; the last day of a month is `L`"
    };
    Fault::never_fires("it can never fire: no such date exists in any year that it names", help)
}
