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

/// The days on which it fires, as the end of a phrase.
pub(super) fn words(cron: &Cron, pattern: &Pattern) -> String {
    let (month, week) = (cron.field(Unit::DayOfMonth), cron.field(Unit::DayOfWeek));
    // Days of the month belong to the months that are named, and then need no "in January".
    let named = months(cron.field(Unit::Month));
    let of = named.as_deref().unwrap_or("the month");
    let inside = named.as_ref().map_or_else(String::new, |names| format!(" in {names}"));
    let days = match (month.any(), week.any()) {
        // A rhythm around the clock needs no "every day"; a time of day does.
        (true, true) if clock::around(pattern.clock) => inside,
        (true, true) => format!(" every day{inside}"),
        (false, true) => format!(" on {} of {of}", day_of_month(month)),
        (true, false) => format!(" on {}{inside}", day_of_week(week)),
        (false, false) if cron.both_days() => format!(
            " on {} of {of} if it is also {} (both must match)",
            day_of_month(month),
            day_of_week(week)
        ),
        (false, false) => format!(
            " on {} of the month or on {}{inside} (either will do)",
            day_of_month(month),
            day_of_week(week)
        ),
    };
    format!("{days}{}", years(cron.field(Unit::Year)))
}

fn day_of_month(field: &Field) -> String {
    let words = |item: &Item| match *item {
        Item::Value(day) => format!("the {}", ordinal(day)),
        Item::Range { low, high, step: None } => format!("days {low} to {high}"),
        Item::Range { low, high, step: Some(step) } => {
            format!("every {} day from {low} to {high}", ordinal(step))
        }
        Item::From { low, step } => {
            format!("every {} day from the {}", ordinal(step), ordinal(low))
        }
        Item::Any { step } => format!("every {} day from the 1st", ordinal(step.unwrap_or(1))),
        Item::LastDay => "the last day".to_owned(),
        Item::LastWorkday => "the last Monday to Friday".to_owned(),
        Item::NearestWorkday(day) => {
            format!("the Monday to Friday nearest to the {}", ordinal(day))
        }
        // Only the day of week has these.
        Item::Nth { .. } | Item::LastOf { .. } => String::new(),
    };
    list(&field.items.iter().map(words).collect::<Vec<_>>(), "and")
}

fn day_of_week(field: &Field) -> String {
    let name = |day: u16| WEEKDAYS[usize::from(day) % 8];
    let words = |item: &Item| match *item {
        Item::Value(day) => name(day).to_owned(),
        Item::Range { low, high, step: None } if low == high => name(low).to_owned(),
        Item::Range { low, high, step: None } => format!("{} to {}", name(low), name(high)),
        Item::Range { low, high, step: Some(step) } => stepped(low, high, step),
        Item::From { low, step } => stepped(low, low.max(Unit::DayOfWeek.last()), step),
        Item::Any { step } => stepped(0, Unit::DayOfWeek.last(), step.unwrap_or(1)),
        Item::Nth { weekday, nth } => {
            format!("the {} {} of the month", ordinal(nth), name(weekday))
        }
        Item::LastOf { weekday } => format!("the last {} of the month", name(weekday)),
        // Only the day of month has these.
        Item::LastDay | Item::LastWorkday | Item::NearestWorkday(_) => String::new(),
    };
    list(&field.items.iter().map(words).collect::<Vec<_>>(), "and")
}

/// Weekdays in steps are named one by one: "every second weekday" would promise too much over the
/// end of the week.
fn stepped(low: u16, high: u16, step: u16) -> String {
    let days = (low..=high).step_by(usize::from(step));
    let names: Vec<String> = days.map(|day| WEEKDAYS[usize::from(day) % 8].to_owned()).collect();
    list(&names, "and")
}

/// The months that are named, if not all of them are.
fn months(field: &Field) -> Option<String> {
    if field.any() {
        return None;
    }
    let name = |month: u16| MONTHS[usize::from(month - 1) % 12].to_owned();
    let stepped = |low: u16, high: u16, step: u16| {
        let months = (low..=high).step_by(usize::from(step));
        list(&months.map(name).collect::<Vec<_>>(), "and")
    };
    let words = |item: &Item| match *item {
        Item::Value(month) => name(month),
        Item::Range { low, high, step: None } => format!("{} to {}", name(low), name(high)),
        Item::Range { low, high, step: Some(step) } => stepped(low, high, step),
        Item::From { low, step } => stepped(low, 12, step),
        Item::Any { step } => stepped(1, 12, step.unwrap_or(1)),
        // Only the day fields have these.
        Item::LastDay
        | Item::LastWorkday
        | Item::NearestWorkday(_)
        | Item::Nth { .. }
        | Item::LastOf { .. } => String::new(),
    };
    Some(list(&field.items.iter().map(words).collect::<Vec<_>>(), "and"))
}

fn years(field: &Field) -> String {
    if field.any() {
        return String::new();
    }
    let words = |item: &Item| match *item {
        Item::Value(year) => year.to_string(),
        Item::Range { low, high, step: None } => format!("{low} to {high}"),
        Item::Range { low, high: LAST_YEAR, step: Some(step) } | Item::From { low, step } => {
            format!("every {} year from {low} on", ordinal(step))
        }
        Item::Range { low, high, step: Some(step) } => {
            format!("every {} year from {low} to {high}", ordinal(step))
        }
        Item::Any { step: Some(2) } => "even years".to_owned(),
        Item::Any { step } => {
            format!("every {} year counted from 1970", ordinal(step.unwrap_or(1)))
        }
        // Only the day fields have these.
        Item::LastDay
        | Item::LastWorkday
        | Item::NearestWorkday(_)
        | Item::Nth { .. }
        | Item::LastOf { .. } => String::new(),
    };
    format!(" in {}", list(&field.items.iter().map(words).collect::<Vec<_>>(), "and"))
}
