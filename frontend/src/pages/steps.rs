//! The time steps of a chart: their length, and their labels on the chosen clock.

use crate::time::{Moment, Wall};

const MINUTE: i64 = 60;
/// The possible lengths of a step, in seconds. They match the marks of a clock.
const LENGTHS: [i64; 13] = [
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    60 * MINUTE,
    120 * MINUTE,
    180 * MINUTE,
    360 * MINUTE,
    720 * MINUTE,
    1_440 * MINUTE,
    WEEK,
];
const WEEK: i64 = 10_080 * MINUTE;
/// Approximate number of steps that a reader can distinguish.
const STEPS: i64 = 90;

/// The step, in seconds, that suits a range of this many milliseconds best.
pub(super) fn step(millis: i64) -> i64 {
    step_of(millis, STEPS)
}

/// The shortest step, in seconds, that divides a range of this many milliseconds into at most as
/// many steps as given.
pub(super) fn step_of(millis: i64, most: i64) -> i64 {
    let seconds = millis / 1_000;
    let fits = |length: &&i64| seconds / **length <= most;
    LENGTHS.iter().find(fits).copied().unwrap_or_else(|| (seconds / most / WEEK + 1) * WEEK)
}

/// The label of a step: `Wed 25 Nov 14:00`.
pub(super) fn name(at: Moment, zone: &str) -> String {
    let wall = wall(at, zone);
    format!("{} {}", day(&wall.date), minute(&wall))
}

/// The labels under a chart: five instants, evenly spaced, as short as the range allows.
pub(super) fn axis(from: Moment, until: Moment, zone: &str) -> Vec<String> {
    let length = until.since(from);
    let label = |quarter: i64| {
        let wall = wall(from.later(length * quarter / 4), zone);
        let day = day(&wall.date);
        match length / 3_600_000 {
            0..=30 => minute(&wall),
            31..=200 => format!("{} {}", day.get(..3).unwrap_or_default(), minute(&wall)),
            _ => day,
        }
    };
    (0..=4).map(label).collect()
}

fn wall(at: Moment, zone: &str) -> Wall {
    Wall::read(at, zone).unwrap_or_default()
}

fn minute(wall: &Wall) -> String {
    wall.time.get(..5).unwrap_or_default().to_owned()
}

/// The weekday of an instant, 0 for Monday, and its hour.
pub(super) fn weekday_and_hour(at: Moment, zone: &str) -> Option<(usize, usize)> {
    let wall = wall(at, zone);
    Some((weekday(&wall.date)?, wall.time.get(..2)?.parse().ok()?))
}

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Converts `2026-11-25` to `Wed 25 Nov`.
fn day(date: &str) -> String {
    let name = || {
        let day = DAYS.get(weekday(date)?)?;
        let (_, month, number) = parts(date)?;
        let month = MONTHS.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
        Some(format!("{day} {number} {month}"))
    };
    name().unwrap_or_else(|| date.to_owned())
}

fn parts(date: &str) -> Option<(i64, i64, i64)> {
    let mut parts = date.split('-').map(str::parse::<i64>);
    Some((parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?))
}

/// The weekday by Zeller's rule, in which January and February count as months of the previous
/// year.
fn weekday(date: &str) -> Option<usize> {
    let (year, month, day) = parts(date)?;
    let (year, month) = if month < 3 { (year - 1, month + 12) } else { (year, month) };
    let days = day + 13 * (month + 1) / 5 + year + year / 4 - year / 100 + year / 400;
    usize::try_from((days + 5).rem_euclid(7)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_one_that_a_clock_has_a_mark_for() {
        let hours = [1, 6, 24, 168, 720, 8_760].map(|hours| step(hours * 3_600_000) / MINUTE);
        assert_eq!(hours, [1, 5, 30, 120, 720, 10_080]);
        let hours = [1, 24, 168, 720].map(|hours| step_of(hours * 3_600_000, 40) / MINUTE);
        assert_eq!(hours, [2, 60, 360, 1_440]);
        // Ten years are still as many steps as the server permits.
        let years = step_of(3_650 * 86_400_000, 40);
        assert_eq!((years % WEEK, 3_650 * 86_400 / years), (0, 37));
    }

    #[test]
    fn a_day_is_called_by_its_weekday() {
        assert_eq!(day("2026-11-25"), "Wed 25 Nov");
        assert_eq!(day("2024-02-29"), "Thu 29 Feb");
        assert_eq!(day("2000-01-01"), "Sat 1 Jan");
        assert_eq!(day(""), "");
    }
}
