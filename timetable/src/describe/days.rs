use super::{
    clock,
    words::{list, ordinal},
};
use crate::{
    expression::{Cron, Field, Item, Unit, unit::LAST_YEAR},
    pattern::Pattern,
};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 8] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Describes the days on which an expression fires, as the end of a phrase.
pub(super) fn words(cron: &Cron, pattern: &Pattern) -> String {
    let (month, week) = (cron.field(Unit::DayOfMonth), cron.field(Unit::DayOfWeek));
    // If days of the month are named together with their months, "in January" is left out.
    let named = months(cron.field(Unit::Month));
    let of = named.as_deref().unwrap_or("the month");
    let inside = named.as_ref().map_or_else(String::new, |names| format!(" in {names}"));
    let of_month = " of the month";
    // If either day field may match, a field that contains every day makes the other irrelevant.
    let either = !cron.both_days() && !month.any() && !week.any();
    let (every_month, every_week) = (month.any() || month.full(), week.any() || week.full());
    let every = either && (every_month || every_week);
    let days = match (every || every_month, every || every_week) {
        // "every day" is left out after a rhythm around the clock, but not after a time of day.
        (true, true) if clock::around(pattern.clock) => inside,
        (true, true) => format!(" every day{inside}"),
        (false, true) => format!(" on {} of {of}", day_of_month(month)),
        (true, false) if week.items.iter().all(counted) => {
            format!(" on {} of {of}", day_of_week(week, "", "and"))
        }
        (true, false) => format!(" on {}{inside}", day_of_week(week, of_month, "and")),
        (false, false) if cron.both_days() => format!(
            " on {} of {of} if it is also {} (both must match)",
            day_of_month(month),
            day_of_week(week, of_month, "or")
        ),
        (false, false) => format!(
            " on {}{} or on {}{inside} (either will do)",
            day_of_month(month),
            if named.is_some() { "" } else { of_month },
            day_of_week(week, of_month, "and")
        ),
    };
    format!("{days}{}", years(cron.field(Unit::Year)))
}

fn day_of_month(field: &Field) -> String {
    let the = |day: u16| format!("the {}", ordinal(day));
    let words = |item: &Item| match *item {
        Item::LastDay => vec!["the last day".to_owned()],
        Item::BeforeLast(1) => vec!["the day before the last".to_owned()],
        Item::BeforeLast(days) => vec![format!("the day {days} days before the last")],
        Item::LastWorkday => vec!["the last weekday (Monday to Friday)".to_owned()],
        Item::NearestWorkday(day) => {
            vec![format!("the weekday (Monday to Friday) nearest to the {}", ordinal(day))]
        }
        Item::Any { .. }
        | Item::Value(_)
        | Item::Range { .. }
        | Item::From { .. }
        | Item::Nth { .. }
        | Item::LastOf { .. } => match Run::of(item, Unit::DayOfMonth) {
            Some(Run { low, high, step: 1, count: 3.. }) => vec![format!("days {low} to {high}")],
            Some(Run { low, high, step, count: 5.. }) => {
                vec![format!("every {} day from {} to {}", ordinal(step), the(low), the(high))]
            }
            Some(run) => run.values().map(the).collect(),
            None => Vec::new(),
        },
    };
    // Nearest workdays come last: items after "nearest to" would read as part of that phrase.
    let mut items = field.items.clone();
    items.sort_by_key(|item| matches!(item, Item::NearestWorkday(_)));
    joined(&items, words, "and")
}

/// Whether an item counts weekdays within a month, so that it depends on the specified months.
fn counted(item: &Item) -> bool {
    matches!(item, Item::Nth { .. } | Item::LastOf { .. })
}

/// Describes the days of the week. `of` names the month in which counted weekdays are counted.
fn day_of_week(field: &Field, of: &str, join: &str) -> String {
    let name = |day: u16| weekday_name(day).to_owned();
    let words = |item: &Item| match *item {
        Item::Nth { weekday, nth } => {
            vec![format!("the {} {}{of}", ordinal(nth), name(weekday))]
        }
        Item::LastOf { weekday } => vec![format!("the last {}{of}", name(weekday))],
        Item::Any { .. }
        | Item::Value(_)
        | Item::Range { .. }
        | Item::From { .. }
        | Item::LastDay
        | Item::BeforeLast(_)
        | Item::LastWorkday
        | Item::NearestWorkday(_) => match Run::of(item, Unit::DayOfWeek) {
            Some(Run { step: 1, count: 7.., .. }) => vec!["any day of the week".to_owned()],
            Some(Run { low, high, step: 1, count: 3.. }) => {
                vec![format!("{} to {}", name(low), name(high))]
            }
            // Weekdays in steps are listed one by one:
            // "every second weekday" would be wrong across weeks.
            Some(run) => run.values().map(name).collect(),
            None => Vec::new(),
        },
    };
    joined(&field.items, words, join)
}

/// Describes the specified months; `None` if the field contains all of them.
fn months(field: &Field) -> Option<String> {
    let runs = || field.items.iter().filter_map(|item| Run::of(item, Unit::Month));
    let all = |month: u16| runs().any(|run| run.values().any(|value| value == month));
    if Unit::Month.values().all(all) {
        return None;
    }
    let words = |item: &Item| match Run::of(item, Unit::Month) {
        Some(Run { low, high, step: 1, count: 3.. }) => {
            vec![format!("{} to {}", month_name(low), month_name(high))]
        }
        Some(run) => run.values().map(|value| month_name(value).to_owned()).collect(),
        None => Vec::new(),
    };
    Some(joined(&field.items, words, "and"))
}

/// The name of a day of the week; Sunday is both 0 and 7.
pub(crate) fn weekday_name(day: u16) -> &'static str {
    WEEKDAYS[usize::from(day) % 8]
}

/// The name of a month, counted from 1.
pub(crate) fn month_name(month: u16) -> &'static str {
    MONTHS[usize::from(month - 1) % 12]
}

fn years(field: &Field) -> String {
    if field.any() {
        return String::new();
    }
    let words = |item: &Item| {
        let even = *item == Item::Any { step: Some(2) };
        vec![match Run::of(item, Unit::Year) {
            _ if even => "even years".to_owned(),
            None => return Vec::new(),
            Some(Run { low, count: 1, .. }) => low.to_string(),
            Some(Run { low, high: LAST_YEAR, step: 1, .. }) => format!("every year from {low} on"),
            Some(Run { low, high, step: 1, .. }) => format!("{low} to {high}"),
            Some(Run { low, high: LAST_YEAR, step, .. }) => {
                format!("every {} year from {low} on", ordinal(step))
            }
            Some(Run { low, high, step, .. }) => {
                format!("every {} year from {low} to {high}", ordinal(step))
            }
        }]
    };
    format!(" in {}", joined(&field.items, words, "and"))
}

/// The values of an item, in equal steps.
struct Run {
    low: u16,
    high: u16,
    step: u16,
    /// The number of values, at least one.
    count: u16,
}

impl Run {
    fn of(item: &Item, unit: Unit) -> Option<Run> {
        let (low, high, step) = item.run(unit)?;
        Some(Run { low, high, step, count: (high - low) / step + 1 })
    }

    fn values(&self) -> impl Iterator<Item = u16> {
        (self.low..=self.high).step_by(usize::from(self.step))
    }
}

/// Describes all items, without duplicates.
fn joined(items: &[Item], words: impl Fn(&Item) -> Vec<String>, join: &str) -> String {
    let mut all: Vec<String> = Vec::new();
    for word in items.iter().flat_map(words) {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    list(&all, join)
}
