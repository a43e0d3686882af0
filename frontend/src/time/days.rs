//! Days in words.

use super::{Moment, Wall};

const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A date as users read it: `Wed 25 Nov`, with the year if it differs from that of `now`.
pub(crate) fn day_words(date: &str, now: Moment) -> String {
    let today = Wall::read(now, "UTC").unwrap_or_default().date;
    words(date, &today).unwrap_or_else(|| date.to_owned())
}

/// A wall-clock time as the API writes it, `2026-11-25T02:30:00`, as users read it: `Wed 25 Nov 02:30:00`.
pub(crate) fn local_words(local: &str, now: Moment) -> String {
    match local.split_once('T') {
        Some((date, time)) => format!("{} {time}", day_words(date, now)),
        None => local.to_owned(),
    }
}

fn words(date: &str, today: &str) -> Option<String> {
    let number = |from: usize, to: usize| date.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let days = super::moment::days(year, month, day);
    let weekday = WEEKDAYS.get(usize::try_from(days.rem_euclid(7)).ok()?)?;
    let name = MONTHS.get(usize::try_from(month - 1).ok()?)?;
    let year = if today.starts_with(date.get(..4)?) { String::new() } else { format!(" {year}") };
    Some(format!("{weekday} {day} {name}{year}"))
}

/// The last part of a zone's name, by which users know it: `Berlin` for `Europe/Berlin`.
pub(crate) fn city(zone: &str) -> String {
    zone.rsplit('/').next().unwrap_or(zone).replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_its_weekday_and_another_year_its_number() {
        assert_eq!(words("2026-11-25", "2026-01-01").as_deref(), Some("Wed 25 Nov"));
        assert_eq!(words("2024-02-29", "2026-11-25").as_deref(), Some("Thu 29 Feb 2024"));
        assert_eq!(words("1970-01-01", "1970-06-01").as_deref(), Some("Thu 1 Jan"));
        assert_eq!(words("soon", "2026-11-25"), None);
    }

    #[test]
    fn a_zone_is_known_by_its_city() {
        let cities = ["Europe/Berlin", "America/New_York", "UTC"].map(city);
        assert_eq!(cities, ["Berlin", "New York", "UTC"]);
    }
}
